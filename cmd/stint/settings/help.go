package settings

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stintdb/stint/server/config"
)

// ErrHelpAll is the error of Read if the flags ask for [FullHelp].
var ErrHelpAll = errors.New("--help-all")

const usage = `Usage: stint [server] [flags]

Starts a server. Every setting can be given as a flag, as an environment
variable or, by its name without the dashes, in the TOML file that --config
names. A flag wins over a variable, a variable over the file. Sizes are written
as 64kb, 128mb or 1gb, durations as 250ms, 10s, 1.5m, 1h or 7d.
`

const example = `
Example: listen on a TCP port and a unix socket, keep keys within 1 GB of memory

  stint server --listen 127.0.0.1:6379 --listen unix:/run/stint.sock \
    --max-memory 1gb
`

// usual are the settings that people set most often, in the order of the help.
var usual = []string{"listen", "requirepass", "dir", "max-memory", "http-listen", "tls-listen", "admin", "admin-token", "cluster-listen", "config"}

// The columns of the help text.
const (
	helpIndent = 32
	helpWidth  = 80
)

// Help is the text of stint server --help: the usual settings.
func Help() string {
	var out strings.Builder
	writeUsual(&out)
	fmt.Fprintf(&out, "\n'stint server --help-all' explains all %d flags.\n%s", len(config.Settings), example)
	return out.String()
}

// FullHelp is the text of stint server --help-all: the usual settings first, then all others by their groups.
func FullHelp() string {
	var out strings.Builder
	writeUsual(&out)
	group := ""
	for i := range config.Settings {
		s := &config.Settings[i]
		if slices.Contains(usual, s.Name) {
			continue
		}
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&out, "\n%s\n", group)
		}
		writeSetting(&out, s)
	}
	out.WriteString(example)
	return out.String()
}

func writeUsual(out *strings.Builder) {
	out.WriteString(usage + "\nUsual flags\n")
	for _, name := range usual {
		s, _ := config.Lookup(name)
		writeSetting(out, s)
	}
}

// writeSetting writes a flag, its text, its default and its environment variable.
func writeSetting(out *strings.Builder, s *config.Setting) {
	defaults := config.Default()
	fmt.Fprintf(out, "  %-*s", helpIndent-2, "--"+s.Name+" "+s.Placeholder)
	if len(s.Name)+len(s.Placeholder)+len("  --  ") > helpIndent {
		fmt.Fprintf(out, "\n%*s", helpIndent, "")
	}
	for _, line := range wrap(s.Help, helpWidth-helpIndent) {
		fmt.Fprintf(out, "%s\n%*s", line, helpIndent, "")
	}
	fmt.Fprintf(out, "[default %s, %s]\n", cmp.Or(s.Get(&defaults), "none"), s.Env())
}

// wrap breaks a text between words into lines of at most width bytes.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

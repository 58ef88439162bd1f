package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/stintdb/stint/server/config"
)

const overview = `Stint is a rate limit server that speaks the Redis protocol.

Usage: stint [command]

`

// help is the command `stint help`.
func (p *process) help(_ context.Context, args []string) error {
	if len(args) > 0 {
		cmd, err := find(args[0])
		if err == nil {
			_, err = fmt.Fprint(p.stdout, cmd.help())
		}
		return err
	}
	var out strings.Builder
	out.WriteString(overview)
	for _, cmd := range commands() {
		fmt.Fprintf(&out, "  %-12s%s\n", cmd.name, cmd.summary)
	}
	out.WriteString("\n'stint server --help' explains the flags of the server.\n")
	_, err := fmt.Fprint(p.stdout, out.String())
	return err
}

const serverUsage = `Usage: stint [server] [flags]

Starts a server. Every setting can be given as a flag, as an environment
variable or, by its name without the dashes, in the TOML file that --config
names. A flag wins over a variable, a variable over the file. Sizes are written
as 64kb, 128mb or 1gb, durations as 250ms, 10s, 1.5m, 1h or 7d.
`

const serverExample = `
Example: listen on a TCP port and a unix socket, keep keys within 1 GB of memory

  stint server --listen 127.0.0.1:6379 --listen unix:/run/stint.sock \
    --max-memory 1gb
`

// The columns of the help text.
const (
	helpIndent = 32
	helpWidth  = 80
)

// serverHelp is the text of `stint server --help`, made from the table of settings.
func serverHelp() string {
	var out strings.Builder
	out.WriteString(serverUsage)
	defaults := config.Default()
	group := ""
	for i := range config.Settings {
		s := &config.Settings[i]
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&out, "\n%s\n", group)
		}
		fmt.Fprintf(&out, "  %-*s", helpIndent-2, "--"+s.Name+" "+s.Placeholder)
		for _, line := range wrap(s.Help, helpWidth-helpIndent) {
			fmt.Fprintf(&out, "%s\n%*s", line, helpIndent, "")
		}
		fmt.Fprintf(&out, "[default %s, %s]\n", cmp.Or(s.Get(&defaults), "none"), s.Env())
	}
	out.WriteString(serverExample)
	return out.String()
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

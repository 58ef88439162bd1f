package config

import (
	"bytes"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testgenerated"
)

//go:generate go test -run TestHandbookIsCurrent -update

var update = flag.Bool("update", false, "write docs/configuration.md instead of comparing it")

const handbook = "../../docs/configuration.md"

// docs/configuration.md is made from the table of settings.
func TestHandbookIsCurrent(t *testing.T) {
	testgenerated.Check(t, handbook, handbookPage(), *update, "go generate ./server/config")
}

const handbookIntroduction = `# Configuration

<!-- Made from the settings in server/config by "go generate ./server/config". Change them there. -->

This page lists every setting of the server, with its bounds and default. You can set each of them in three ways. A flag takes precedence over an environment variable, and an environment variable over the file.

| way | example | notes |
|---|---|---|
| flag | ` + "`--max-clients 5000`" + ` | ` + "`stint server --help-all`" + ` lists all flags |
| environment variable | ` + "`STINT_MAX_CLIENTS=5000`" + ` | ` + "`STINT_`" + ` and the name in capitals, with _ for -; an empty variable counts as not set |
| TOML file named by ` + "`--config`" + ` | ` + "`max-clients = 5000`" + ` | no sections; text, sizes and durations in quotes |

Sizes have a unit: ` + "`kb`, `mb`, `gb` and `tb`" + ` are powers of 1024; ` + "`k`, `m`, `g` and `t`" + ` are powers of 1000; a bare number is bytes.
Durations are ` + "`250ms`, `10s`, `1.5m`, `1h`, `7d`" + `; a bare number is seconds. An ADDRESS is HOST:PORT or ` + "`unix:/path`" + `; port 0 picks a free port to
listen on. A list of patterns, origins or host names has at most 16 of them, separated by commas, each with at most 256 printable characters.

If a value is invalid, a setting or a ` + "`STINT_`" + ` variable is unknown, or two settings contradict each other, the server says what to do and exits with code 2.
Variables that Kubernetes sets for a service called stint are ignored. This is an example of a file:

` + "```toml" + `
listen = ["127.0.0.1:6379", "unix:/run/stint.sock"]
max-memory = "1gb"
max-clients = 5000
idle-timeout = "5m"
` + "```" + `

` + "`CONFIG SET`" + ` changes the settings marked *while running*; the others need a restart. ` + "`CONFIG GET`" + ` shows all of them, also
under their names in Redis, with sizes in bytes and durations in seconds. Where no default is shown, a setting is unset.
`

func handbookPage() []byte {
	var out bytes.Buffer
	out.WriteString(handbookIntroduction)
	defaults, group := Default(), ""
	for i := range Settings {
		s := &Settings[i]
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&out, "\n## %s\n", group)
		}
		fmt.Fprintf(&out, "\n### %s\n\n%s\n\n", s.Name, s.Help)
		fmt.Fprintf(&out, "`--%s %s`%s\n", s.Name, s.Placeholder, notes(s, s.Get(&defaults)))
	}
	return out.Bytes()
}

// examples removes the parts of the allowed values that the introduction explains.
var examples = strings.NewReplacer(", such as 250ms, 10s or 1.5m (a bare number is seconds)", "", ", such as 250ms or 1.5s (a bare number is seconds)", "",
	", such as 64kb or 1gb", "", "a path without control characters", "", "yes or no", "", allowedHostPort+", or unix:/path", "", allowedHostPort, "",
	allowedPeer, "",
	"names of at most 256 printable characters, ", "", "patterns of at most 256 printable characters, ", "", ", separated by commas; at most 16", "")

var ranges = regexp.MustCompile(`an? (?:integer|duration|size) between (\S+) and (\S+)`)

// notes returns the allowed values of a setting, its default, its name in Redis, and when it can change.
func notes(s *Setting, byDefault string) (all string) {
	allowed := strings.TrimLeft(ranges.ReplaceAllString(examples.Replace(s.Allowed()), "$1 to $2"), ",; ")
	if allowed = strings.TrimPrefix(allowed, "or "); allowed != "" {
		all += ": " + allowed
	}
	for _, note := range []struct {
		applies bool
		text    string
	}{
		{byDefault != "", "default `" + byDefault + "`"},
		{s.Redis != "", "in Redis `" + s.Redis + "`"},
		{s.Mutable, "*while running*"},
		{!s.InFile(), "not in a file"},
	} {
		if note.applies {
			all += "; " + note.text
		}
	}
	return all
}

package config

import (
	"bytes"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/generated"
)

//go:generate go test -run TestHandbookIsCurrent -update

var update = flag.Bool("update", false, "write docs/configuration.md instead of comparing it")

const handbook = "../../docs/configuration.md"

// docs/configuration.md is made from the table of settings.
func TestHandbookIsCurrent(t *testing.T) {
	generated.Check(t, handbook, handbookPage(), *update, "go generate ./server/config")
}

const handbookIntroduction = `# Configuration

<!-- Made from the settings in server/config by "go generate ./server/config". Change them there. -->

Every setting can be given in three ways. A flag wins over an environment variable, a variable over the
configuration file, the file over the default.

| way | looks like | notes |
|---|---|---|
| flag | ` + "`--max-clients 5000`" + ` | ` + "`stint server --help`" + ` lists all of them |
| environment variable | ` + "`STINT_MAX_CLIENTS=5000`" + ` | a variable that is set but empty counts as not set |
| TOML file named by ` + "`--config`" + ` | ` + "`max-clients = 5000`" + ` | no sections; text, sizes and durations in quotes |

Sizes are whole numbers with a unit, as in redis.conf: ` + "`kb`, `mb`, `gb`, `tb`" + ` are powers of 1024, ` + "`k`, `m`, `g`, `t`" + `
powers of 1000, a bare number is bytes. Durations are ` + "`250ms`, `10s`, `1.5m`, `1h`, `7d`" + `; a bare number is seconds.

A value that is not allowed, a name that does not exist and settings that contradict each other stop the start, with a
sentence that says what to mend and exit code 2. This holds for every environment variable beginning with ` + "`STINT_`" + `, save
those by which Kubernetes describes a service of that name.

A file with some of them:

` + "```toml" + `
listen = ["127.0.0.1:6379", "unix:/run/stint.sock"]
max-memory = "1gb"
max-clients = 5000
idle-timeout = "5m"
` + "```" + `

Settings marked *while running* can be changed with ` + "`CONFIG SET`" + `; the others need a restart. ` + "`CONFIG GET`" + ` knows all of them,
by the names below and by the names Redis has for them, under which sizes are in bytes and durations in seconds.
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
		fmt.Fprintf(&out, "- Flag `--%s %s`, variable `%s`\n", s.Name, s.Placeholder, s.Env())
		byDefault := "none"
		if value := s.Get(&defaults); value != "" {
			byDefault = "`" + value + "`"
		}
		fmt.Fprintf(&out, "- Default: %s\n- Allowed: %s\n", byDefault, s.Allowed())
		if s.Redis != "" {
			fmt.Fprintf(&out, "- In Redis: `%s`\n", s.Redis)
		}
		fmt.Fprintf(&out, "- Can change: %s\n", changes(s))
	}
	return out.Bytes()
}

func changes(s *Setting) string {
	var where []string
	if s.Mutable {
		where = append(where, "*while running*")
	} else {
		where = append(where, "at start")
	}
	if !s.InFile() {
		where = append(where, "not from a configuration file")
	}
	return strings.Join(where, ", ")
}

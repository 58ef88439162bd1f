package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/stintdb/stint/server/config"
)

const root = ".."

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// unmarshal reads a YAML document. Fields that the target does not have are errors.
func unmarshal(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

func unmarshalLoosely(t *testing.T, text string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// given collects settings as a server would get them.
type given struct {
	*testing.T
	cfg   config.Config
	count int
}

func newGiven(t *testing.T) *given { return &given{T: t, cfg: config.Default()} }

var expanded = regexp.MustCompile(`\$\{[^}]*\}`)

// set gives a setting its value, where variables stand for a text.
func (g *given) set(name, value string) {
	g.Helper()
	setting, known := config.Lookup(name)
	if !known || setting.Name != name {
		g.Fatalf("there is no setting %s", name)
	}
	if err := setting.Set(&g.cfg, expanded.ReplaceAllString(value, "some-value-that-is-long-and-random")); err != nil {
		g.Error(err)
	}
	g.count++
}

// environment takes the variables of a server; others than STINT_… are none of it.
func (g *given) environment(variables map[string]string) {
	g.Helper()
	for variable, value := range variables {
		if name, is := strings.CutPrefix(variable, config.EnvPrefix); is {
			g.set(strings.ReplaceAll(strings.ToLower(name), "_", "-"), value)
		}
	}
}

// flags takes the arguments of a server, --name=value or --name value, its subcommand first.
func (g *given) flags(args []string) {
	g.Helper()
	if len(args) == 0 || args[0] != "server" {
		g.Fatalf("%q does not begin with server", args)
	}
	for i := 1; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		if !joined {
			if i++; i == len(args) {
				g.Fatalf("--%s has no value", name)
			}
			value = args[i]
		}
		g.set(name, value)
	}
}

// check holds all that was given to agree, as at the start of a server.
func (g *given) check() {
	g.Helper()
	if g.count == 0 {
		g.Error("no setting was given")
	}
	if err := g.cfg.Check(); err != nil {
		g.Error(err)
	}
}

package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
	"github.com/stintdb/stint/server/config"
)

// otherFlags are flags in the handbook that are not settings of the server.
var otherFlags = map[string]string{
	"--help": "stint", "--help-all": "stint",
	"--dump":    "stint inspect",
	"--version": "stint",
	"--raw":     "redis-cli",
	"--no-raw":  "redis-cli",
	"--scan":    "redis-cli",
	"--pattern": "redis-cli",
	"--pipe":    "redis-cli",
	"--user":    "redis-cli",
	"--pass":    "redis-cli",

	"--no-auth-warning": "redis-cli",

	"--set":          "helm",
	"--values":       "helm",
	"--kube-version": "helm",
	"--from-literal": "kubectl",
	"--from-file":    "kubectl",
	"--replicas":     "kubectl",
	"--tls":          "redis-cli",
	"--cacert":       "redis-cli",

	"--home": "stint sidecar",

	"--json":       "stint replay",
	"--alive":      "stint health",
	"--token-file": "stint backup",
	"--stale":      "stint backup",

	"--password-file": "stint backup",

	"--before": "stint policy",
	"--prune":  "stint policy",

	"--limit":      "stint replay",
	"--against":    "stint replay",
	"--suggest":    "stint replay",
	"--except":     "stint replay",
	"--key":        "stint replay",
	"--format":     "stint replay",
	"--time-field": "stint replay",
	"--time-zone":  "stint replay",
	"--top":        "stint replay",
	"--inject":     "strace",
	"--foreground": "timeout",
	"--hotkeys":    "redis-cli",
	"--memkeys":    "redis-cli",
	"--now":        "systemctl",
}

var (
	flagNames     = regexp.MustCompile(`(?:^|[^\w!-])(--[a-z][a-z-]*[a-z])`)
	variableNames = regexp.MustCompile(`\bSTINT_[A-Z][A-Z_]*`)
)

// TestSettingsExist finds flags, variables and keys of configuration files that the server does not know.
func TestSettingsExist(t *testing.T) {
	flags, variables := map[string]bool{}, map[string]bool{}
	for i := range config.Settings {
		flags["--"+config.Settings[i].Name] = true
		variables[config.Settings[i].Env()] = true
	}
	for _, p := range handbookPages(t) {
		for i, line := range p.lines {
			for _, flag := range flagNames.FindAllStringSubmatch(line, -1) {
				if !flags[flag[1]] && otherFlags[flag[1]] == "" {
					t.Errorf("%s:%d: there is no flag %s", p.path, i+1, flag[1])
				}
			}
			for _, variable := range variableNames.FindAllString(line, -1) {
				if !variables[variable] {
					t.Errorf("%s:%d: there is no variable %s", p.path, i+1, variable)
				}
			}
		}
		for _, b := range p.blocks() {
			if b.language == "toml" {
				checkFile(t, p, b)
			}
		}
	}
}

func checkFile(t *testing.T, p page, b block) {
	t.Helper()
	var keys map[string]any
	if err := toml.Unmarshal([]byte(b.text()), &keys); err != nil {
		t.Errorf("%s:%d: %v", p.path, b.line, err)
	}
	for key := range keys {
		if setting, known := config.Lookup(key); !known || setting.Name != key {
			t.Errorf("%s:%d: there is no setting %s", p.path, b.line, key)
		}
	}
}

var commandSpan = regexp.MustCompile("`((?:CL|TB|LB|FW|SW|SL|CC|RL)\\.[A-Z]+)\\b")

// TestCommandsExist finds names of limiter commands that the server does not have.
func TestCommandsExist(t *testing.T) {
	known := map[string]bool{}
	for _, row := range command.Table {
		known[strings.ToUpper(row.Name)] = true
	}
	for _, p := range handbookPages(t) {
		for i, line := range p.lines {
			for _, name := range commandSpan.FindAllStringSubmatch(line, -1) {
				if !known[name[1]] {
					t.Errorf("%s:%d: there is no command %s", p.path, i+1, name[1])
				}
			}
		}
	}
}

var (
	namedTest = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`")
	testFunc  = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w+)\(`)
)

// TestNamedTestsExist finds names of tests in the guarantees of a cluster that the source does not have.
func TestNamedTestsExist(t *testing.T) {
	there := map[string]bool{}
	for _, pattern := range []string{"*", "*/*", "*/*/*"} {
		files, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern+"_test.go")))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range testFunc.FindAllSubmatch(text, -1) {
				there[string(f[1])] = true
			}
		}
	}
	const page = "performance.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	named := namedTest.FindAllSubmatch(text, -1)
	for _, name := range named {
		if !there[string(name[1])] {
			t.Errorf("%s names %s, which is not there", page, name[1])
		}
	}
	if len(named) == 0 {
		t.Errorf("%s names no tests", page)
	}
}

// addingPage is the page whose steps TestAdding takes.
const addingPage = "docs/adding-an-algorithm.md"

// TestAddingNames finds names in the page that the source does not have.
func TestAddingNames(t *testing.T) {
	source := ""
	for _, path := range findFiles(t, "*.go") {
		if strings.HasPrefix(path, "engine/") || strings.HasPrefix(path, "server/command/") {
			source += strings.Join(readPage(t, path).lines, "\n")
		}
	}
	name := regexp.MustCompile("`([A-Za-z]*[a-z][A-Z][A-Za-z]*|Call|Next|Prev|naive|twins|Need|Write|Decide|Table|Bytes|Valid|Plain|Rewind|Detail)`")
	count := 0
	for i, line := range readPage(t, addingPage).prose() {
		for _, found := range name.FindAllStringSubmatch(line, -1) {
			count++
			if !regexp.MustCompile(`\b` + found[1] + `\b`).MatchString(source) {
				t.Errorf("%s:%d: there is no %s", addingPage, i+1, found[1])
			}
		}
	}
	if count < 12 {
		t.Errorf("only %d names found", count)
	}
}

// TestAddingFormat finds a format version in the page that is released: nodes of that release do not know the algorithm.
func TestAddingFormat(t *testing.T) {
	text := func(path string) string { return strings.Join(readPage(t, path).lines, "\n") }
	found := regexp.MustCompile(`format: (\d+),`).FindStringSubmatch(text(addingPage))
	if found == nil {
		t.Fatalf("%s names no format version", addingPage)
	}
	release := regexp.MustCompile(`\b` + found[1] + `: "([\d.]+)"`).FindStringSubmatch(text("cluster/fsm/released_test.go"))
	if release != nil && strings.Contains(text("CHANGELOG.md"), "\n## "+release[1]+" – 2") {
		t.Errorf("%s uses format version %s, but release %s is out: use the next", addingPage, found[1], release[1])
	}
}

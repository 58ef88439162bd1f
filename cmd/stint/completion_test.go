package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/server/config"
)

// The packages install the output of the program.
func TestPackagedHelp(t *testing.T) {
	for file, args := range map[string]string{
		"completion/stint.bash": "completion bash", "completion/_stint": "completion zsh", "completion/stint.fish": "completion fish", "stint.1": "manual",
	} {
		code, got, stderr := play(t, strings.Fields(args)...)
		if code != exitOK || stderr != "" {
			t.Errorf("%s: exit %d, %s", args, code, stderr)
		}
		path := "../../packaging/" + file
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not %s; if it should be, run go test ./cmd/stint -run TestPackagedHelp -update", args, path)
		}
		for i := range config.Settings {
			if name := config.Settings[i].Name; !strings.Contains(strings.ReplaceAll(got, `\-`, "-"), name) {
				t.Errorf("%s: the flag --%s is missing", args, name)
			}
		}
	}
	for _, args := range []string{"completion", "completion tcsh", "completion bash zsh", "manual stint"} {
		if code, _, stderr := play(t, strings.Fields(args)...); code != exitUsage || !strings.Contains(stderr, "--help") {
			t.Errorf("%s: exit %d, %s", args, code, stderr)
		}
	}
}

func TestCompletionInBash(t *testing.T) {
	for words, want := range map[string]string{
		"stint he":              "health help",
		"stint help rep":        "replay",
		"stint --cluster-ah":    "--cluster-ahead",
		"stint server --listen": "--listen",
		"stint top --tok":       "--token-file",
		"stint inspect --d":     "--dump",
		"stint inspect main.g":  "main.go",
		"stint top --cluster":   "",
	} {
		script := `source ../../packaging/completion/stint.bash; COMP_WORDS=($0); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _stint; echo "${COMPREPLY[@]}"`
		out, err := testserver.Command(t, "bash", "-c", script, words).CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", words, got, err, want)
		}
	}
}

func TestFlagsOfHelp(t *testing.T) {
	for _, c := range commands() {
		var names []string
		for _, f := range c.flags() {
			names = append(names, f.name)
			if f.about == "" {
				t.Errorf("%s: --%s has no text", c.name, f.name)
			}
		}
		if c.name == "inspect" && !slices.Equal(names, []string{"dump"}) {
			t.Errorf("inspect has %q", names)
		}
		if strings.Count(c.fullHelp(), "\n  --") != len(names) {
			t.Errorf("%s: %d flags of %d", c.name, len(names), strings.Count(c.fullHelp(), "\n  --"))
		}
	}
}

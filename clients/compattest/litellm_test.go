//go:build e2e

package compattest

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

var litellmCalls = flag.Int("litellm-calls", 20, "calls at once of each round of LiteLLM's proxy")

const inLiteLLM = "../build/litellm"

var litellm = suite{
	folder: "litellm",
	tools:  map[string]string{"python3": "Python 3.11 or later with its venv module"},
	prepare: []step{
		{unless: inLiteLLM + "/bin/python", command: []string{"python3", "-m", "venv", inLiteLLM}},
		{command: []string{inLiteLLM + "/bin/python", "-m", "pip", "install", "--quiet", "--requirement", "requirements.txt", "--constraint", "constraints.txt"}},
	},
}

// TestLiteLLM runs LiteLLM's proxy with Stint as its Redis, and the Python client's callback in it. Most of its CPU time is LiteLLM's
// start.
func TestLiteLLM(t *testing.T) {
	neverCached(t)
	litellm.install(t)
	server := testserver.Start(t, testserver.Build(t, filepath.Join("..", "..")))
	nobody := testserver.ReserveAddress(t)
	client, err := filepath.Abs("../python/src")
	if err != nil {
		t.Fatal(err)
	}
	command := testserver.Command(t, inLiteLLM+"/bin/python", "checks.py", server, nobody, strconv.Itoa(*litellmCalls))
	command.Dir = litellm.folder
	command.Env = append(os.Environ(), "PYTHONPATH="+client, "PYTHONDONTWRITEBYTECODE=1")
	out, err := command.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "all checks passed") {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "own") || strings.HasPrefix(line, "stint:") {
			t.Log(strings.TrimSpace(line))
		}
	}
}

//go:build e2e

package compattest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// A registry has the packages of a language.
type registry struct {
	// fetch returns the library's version, which the files in limiters pin, and a folder with its package.
	fetch func(t *testing.T, library string, needs []string) (version, folder string)
	// outcomes reads a run's standard output or its file of results, and returns the error of each test, "" if it passed.
	outcomes func(output []byte, results string) map[string]string
}

var (
	goModules = registry{fetchGo, outcomesOfGo}
	npm       = registry{fetchNPM, outcomesOfJUnit}
	pypi      = registry{fetchPyPI, outcomesOfJUnit}
)

func fetchGo(t *testing.T, library string, _ []string) (version, folder string) {
	var module struct{ Version, Dir string }
	if err := json.Unmarshal(inFolder(t, "limiters/go", "go", "mod", "download", "-json", library), &module); err != nil {
		t.Fatal(err)
	}
	folder = filepath.Join(t.TempDir(), "library")
	if err := os.CopyFS(folder, os.DirFS(module.Dir)); err != nil {
		t.Fatal(err)
	}
	return module.Version, folder
}

func fetchNPM(t *testing.T, library string, needs []string) (version, folder string) {
	require(t, "npm", "npm, which comes with Node.js")
	text, err := os.ReadFile("limiters/node/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var pinned struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &pinned); err != nil {
		t.Fatal(err)
	}
	version = pinned.Dependencies[library]
	if version == "" {
		t.Fatalf("limiters/node/package.json does not pin %s", library)
	}
	parent := t.TempDir()
	if err := os.WriteFile(filepath.Join(parent, "package.json"), []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	inFolder(t, parent, append([]string{"npm", "install", "--prefer-offline", "--no-audit", "--no-fund", library + "@" + version}, needs...)...)
	// Outside of node_modules, where test runners look for tests.
	folder = filepath.Join(parent, "library")
	if err := os.Rename(filepath.Join(parent, "node_modules", library), folder); err != nil {
		t.Fatal(err)
	}
	return version, folder
}

// inVirtualEnvironment has the libraries of limiters/python and what their tests need, in a folder of this package.
const inVirtualEnvironment = "build/upstream/python"

func fetchPyPI(t *testing.T, library string, needs []string) (version, folder string) {
	require(t, "python3", "Python 3.11 or later with its venv module")
	text, err := os.ReadFile("limiters/python/requirements.txt")
	if err != nil {
		t.Fatal(err)
	}
	pinned := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(library) + `(?:\[.*\])?==(.*)$`).FindSubmatch(text)
	if pinned == nil {
		t.Fatalf("limiters/python/requirements.txt does not pin %s", library)
	}
	version = string(pinned[1])
	python := inVirtualEnvironment + "/bin/python"
	if !exists(python) {
		inFolder(t, ".", "python3", "-m", "venv", inVirtualEnvironment)
	}
	inFolder(t, ".", append([]string{
		python, "-m", "pip", "install", "--quiet", "--requirement", "limiters/python/requirements.txt", "--constraint", "limiters/python/constraints.txt",
	}, needs...)...)
	parent := t.TempDir()
	inFolder(t, ".", python, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", library, "--dest", parent, library+"=="+version)
	archives, err := filepath.Glob(filepath.Join(parent, "*.tar.gz"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("the source package of %s is %q, %v", library, archives, err)
	}
	folder = filepath.Join(parent, "library")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	inFolder(t, folder, "tar", "--extract", "--gzip", "--strip-components=1", "--file", archives[0])
	return version, folder
}

// inFolder returns the standard output of a command.
func inFolder(t *testing.T, folder string, args ...string) []byte {
	t.Helper()
	c := testserver.Command(t, args[0], args[1:]...)
	c.Dir = folder
	var stderr strings.Builder
	c.Stderr = &stderr
	output, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", c, err, output, stderr.String())
	}
	return output
}

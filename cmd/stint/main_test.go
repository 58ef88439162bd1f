package main

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing them")

// play runs the program and returns its exit code and its output.
func play(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	p := &process{readFile: fstest.MapFS{}.ReadFile, stdout: &out, stderr: &err}
	code = p.run(t.Context(), args)
	return code, out.String(), err.String()
}

func TestHelpText(t *testing.T) {
	for file, args := range map[string]string{"help.txt": "help", "server_help.txt": "server --help", "server_help_all.txt": "server --help-all", "inspect_help.txt": "inspect --help",
		"health_help.txt": "health --help", "replay_help.txt": "replay --help",
		"backup_help.txt": "backup --help", "top_help.txt": "top --help", "restore_help.txt": "restore --help",
		"sidecar_help.txt": "sidecar --help"} {
		code, got, stderr := play(t, strings.Fields(args)...)
		if code != exitOK || stderr != "" {
			t.Errorf("%s: exit %d, %s", args, code, stderr)
		}
		if *update {
			if err := os.WriteFile("testdata/"+file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile("testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not testdata/%s; if it should be, run go test ./cmd/stint -run TestHelpText -update\n%s", args, file, got)
		}
		for line := range strings.Lines(got) {
			if len(line) > 80+len("\n") {
				t.Errorf("%s: a line too wide to read: %s", args, line)
			}
		}
	}
}

func TestSubcommands(t *testing.T) {
	for _, tc := range []struct {
		args           string
		code           int
		stdout, stderr string // their beginnings
	}{
		{"version", exitOK, "stint ", ""},
		{"--version", exitOK, "stint ", ""},
		{"-v", exitOK, "stint ", ""},
		{"bnech", exitUsage, "", "stint: unknown command 'bnech'; to load a server, use redis-benchmark"},
		{"help", exitOK, "Stint is", ""},
		{"--help", exitOK, "Stint is", ""},
		{"help server", exitOK, "Usage: stint [server]", ""},
		{"help inspect", exitOK, "Usage: stint inspect", ""},
		{"inspect -h", exitOK, "Usage: stint inspect", ""},
		{"inspect", exitUsage, "", "stint: name a directory or files to inspect; "},
		{"inspect --dmup x", exitUsage, "", "stint: unknown flag: --dmup; "},
		{"replay --sugest 1% x", exitUsage, "", "stint: unknown flag: --sugest; did you mean --suggest?\n"},
		{"top --server localhost:6380", exitUsage, "", "stint: unknown flag: --server; did you mean --admin?\n"},
		{"health --address localhost:6380", exitUsage, "", "stint: unknown flag: --address; did you mean --admin?\n"},
		{"inspect nowhere", exitFailed, "", "stint: nowhere: no such file or directory\n"},
		{"inspect testdata", exitUsage, "", "stint: testdata contains no snapshot or journal\n"},
		{"server -h", exitOK, "Usage: stint [server]", ""},
		{"--loops 1 --help", exitOK, "Usage: stint [server]", ""},
		{"sever", exitUsage, "", "stint: unknown command 'sever'; did you mean server?\n"},
		{"dance", exitUsage, "", "stint: unknown command 'dance'; 'stint help' lists the commands\n"},
		{"help dance", exitUsage, "", "stint: unknown command 'dance'"},
		{"version 2", exitUsage, "", "stint: version takes no arguments"},
		{"server --loops x", exitUsage, "", "stint: --loops: must be"},
		{"--loops x", exitUsage, "", "stint: --loops: must be"},
	} {
		code, stdout, stderr := play(t, strings.Fields(tc.args)...)
		if code != tc.code || !begins(stdout, tc.stdout) || !begins(stderr, tc.stderr) {
			t.Errorf("stint %s: exit %d, wrote %q and %q", tc.args, code, stdout, stderr)
		}
	}
}

func begins(got, with string) bool {
	return strings.HasPrefix(got, with) && (with == "") == (got == "")
}

func TestIdentifyBuild(t *testing.T) {
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.modified", Value: "false"}}
	dirty := []debug.BuildSetting{commit[0], {Key: "vcs.modified", Value: "true"}}
	for _, tc := range []struct {
		set      build
		compiled string // the version recorded by Go
		settings []debug.BuildSetting
		want     string
	}{
		{build{"1.2.3", "89abcdef0123456789"}, "(devel)", nil, "stint 1.2.3 (commit 89abcdef0123, go"},
		{build{"1.2.3", ""}, "v0.3.0", dirty, "stint 1.2.3 (commit 0123456789ab-dirty, go"},
		{build{}, "v0.3.0", nil, "stint 0.3.0 (go"},
		{build{}, "v0.0.0-20261122032438-0123456789ab", commit, "stint " + latest + "+dev (commit 0123456789ab, go"},
		{build{}, "v0.3.0+dirty", dirty, "stint " + latest + "+dev (commit 0123456789ab-dirty, go"},
		{build{}, "(devel)", nil, "stint " + latest + "+dev (go"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: tc.compiled}, Settings: tc.settings}
		if got := identify(tc.set, info).String(); !strings.HasPrefix(got, tc.want) {
			t.Errorf("got %q, want %q…", got, tc.want)
		}
	}
	if got := identify(build{}, nil).version; got != latest+"+dev" {
		t.Errorf("without build information: %q", got)
	}
}

// Wherever a version stands that is released with the server, it is the one in version.go. With -update it is written
// there, except for the changelog.
func TestOneVersion(t *testing.T) {
	for _, place := range []struct{ glob, pattern string }{
		{"CHANGELOG.md", `(?m)^## (\d+\.\d+\.\d+) `},
		{"clients/go/*/go.mod", `stint/clients/go v(.+)`},
		{"clients/python/pyproject.toml", `(?m)^version = "(.+)"$`},
		{"clients/node/package.json", `(?m)^  "version": "(.+)",$`},
		{"clients/node/package-lock.json", `(?m)^  "version": "(.+)",$`},
		{"clients/node/package-lock.json", `(?m)^      "version": "(.+)",$`},
		{"packaging/helm/stint/Chart.yaml", `(?m)^version: (.+)$`},
		{"packaging/helm/stint/Chart.yaml", `(?m)^appVersion: (.+)$`},
		{"docs/clients-java.md", mavenVersion},
		{"clients/java/pom.xml", mavenVersion},
		{"clients/java/*/pom.xml", mavenVersion}, // their parent's
	} {
		paths, err := filepath.Glob("../../" + place.glob)
		if err != nil || len(paths) == 0 {
			t.Errorf("no %s: %v", place.glob, err)
		}
		for _, path := range paths {
			if checkVersions(t, path, place.pattern, 1) == 0 {
				t.Errorf("%s: no %s", path, place.pattern)
			}
		}
	}
	found := 0
	for _, folder := range []string{"../../docs", "../../packaging", "../../clients"} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Name() == "node_modules" {
				return fs.SkipDir
			}
			if ext := filepath.Ext(path); err == nil && (ext == ".md" || ext == ".yaml") {
				found += checkVersions(t, path, artifacts, -1)
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if found < 2 {
		t.Errorf("only %d names of artifacts were found", found)
	}
}

// artifacts are packages, archives and images in pages and manifests.
const artifacts = `(?:stint[_:]|image:|stintdb-client-)(\d+\.\d+\.\d+)`

// checkVersions compares up to n versions that a pattern finds in a file, -1 for all, with version.go's. With -update
// it writes that one, except into the changelog.
func checkVersions(t *testing.T, path, pattern string, n int) (found int) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(pattern).FindAllSubmatchIndex(text, n)
	for _, at := range slices.Backward(all) {
		version := string(text[at[2]:at[3]])
		if *update && filepath.Base(path) != "CHANGELOG.md" {
			text = slices.Concat(text[:at[2]], []byte(latest), text[at[3]:])
		} else if version != latest {
			t.Errorf("%s: %s, not %s, the version in version.go: run go generate ./cmd/stint", path, version, latest)
		}
	}
	if *update && len(all) > 0 {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Error(err)
		}
	}
	return len(all)
}

// mavenVersion is the first version of a file, below the group of the modules.
const mavenVersion = `<groupId>com\.stintdb</groupId>\s*<artifactId>[a-z-]+</artifactId>\s*<version>(.+)</version>`

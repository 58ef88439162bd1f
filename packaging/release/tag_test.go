package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
)

// A release is cut once, from a commit: its section of the changelog gets the day, and is the message of the tag.
func TestCut(t *testing.T) {
	root := t.TempDir()
	git := func(args ...string) string {
		t.Helper()
		out, err := testserver.Command(t, "git", append([]string{"-C", root}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v %s", args, err, out)
		}
		return string(out)
	}
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "--quiet")
	git("config", "user.name", "somebody")
	git("config", "user.email", "somebody@example.org")
	write("cmd/stint/version.go", "package main\n\nconst latest = \"1.2.0\"\n")
	write("CHANGELOG.md", "# Changelog\n\n## 1.2.0 – not released yet\n\nNew.\n\n### If you used an earlier build\n\n- Do this.\n\n## 1.1.0 – 2020-01-01\n\nOld.\n")
	git("commit", "--quiet", "--allow-empty", "--message", "begin")
	git("add", ".")
	day := time.Date(2026, 11, 26, 23, 0, 0, 0, time.UTC)
	refused := func(says string) {
		t.Helper()
		if tag, err := cut(root, day); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q, %v, not %q", tag, err, says)
		}
	}
	refused("files are changed")
	git("commit", "--quiet", "--message", "work")
	git("config", "core.hooksPath", "hooks")
	write(".git/info/exclude", "/hooks\n")
	write("hooks/pre-commit", "#!/bin/sh\nexit 1\n")
	if err := os.Chmod(filepath.Join(root, "hooks/pre-commit"), 0o755); err != nil {
		t.Fatal(err)
	}
	refused("git commit")
	git("config", "--unset", "core.hooksPath") // and nothing was left behind
	if tag, err := cut(root, day); tag != "v1.2.0" || err != nil {
		t.Fatal(tag, err)
	}
	if kind := git("cat-file", "-t", "v1.2.0"); kind != "tag\n" {
		t.Errorf("it is a %s, not annotated", kind)
	}
	if got, want := git("tag", "--list", "--format=%(contents)", "v1.2.0"), "Stint 1.2.0\n\nNew.\n\n### If you used an earlier build\n\n- Do this.\n\n"; got != want {
		t.Errorf("its message is %q, not %q", got, want)
	}
	if got, want := git("show", "v1.2.0:CHANGELOG.md"), "# Changelog\n\n## 1.2.0 – 2026-11-26\n\nNew."; !strings.HasPrefix(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	if changed := git("status", "--porcelain"); changed != "" {
		t.Errorf("it leaves %s", changed)
	}
	refused("v1.2.0 has been released")

	commit, message := git("rev-parse", "HEAD"), git("tag", "--list", "--format=%(contents)")
	git("tag", "--delete", "v1.2.0") // as in a clone without tags
	git("commit", "--quiet", "--allow-empty", "--message", "later work")
	if tag, err := cut(root, day.AddDate(0, 0, 3)); tag != "v1.2.0" || err != nil {
		t.Error(tag, err)
	}
	if at, says := git("rev-parse", "v1.2.0^{commit}"), git("tag", "--list", "--format=%(contents)"); at != commit || says != message {
		t.Errorf("the tag that was lost is %s %q, not %s %q", at, says, commit, message)
	}

	write("cmd/stint/version.go", "package main\n\nconst latest = \"1.3.0\"\n")
	git("commit", "--quiet", "--all", "--message", "more work")
	refused(`no heading "## 1.3.0 – not released yet"`)
}

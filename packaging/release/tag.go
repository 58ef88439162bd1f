package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// unreleased is what a heading of CHANGELOG.md says in place of the day, until the version is released.
const unreleased = "not released yet"

// cut dates the version's section of CHANGELOG.md in a commit, and gives that an annotated tag, whose message is the section. It pushes nothing.
func cut(root string, day time.Time) (tag string, err error) {
	r := &release{root: root}
	if err := r.readVersion(); err != nil {
		return "", err
	}
	tag = "v" + r.version
	if changed, err := r.git("status", "--porcelain"); err != nil || changed != "" {
		return "", errors.Join(err, fmt.Errorf("a release is cut from a commit, and files are changed: %q", changed))
	}
	if _, err := r.git("rev-parse", "--verify", "--quiet", "refs/tags/"+tag); err == nil {
		return "", fmt.Errorf("%s has been released: raise the version in cmd/stint/version.go", tag)
	}
	path := filepath.Join(root, "CHANGELOG.md")
	changelog, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	heading := "## " + r.version + " – "
	before, section, found := strings.Cut(string(changelog), heading+unreleased+"\n")
	if !found {
		return "", fmt.Errorf("CHANGELOG.md has no heading %q", heading+unreleased)
	}
	text := before + heading + day.UTC().Format(time.DateOnly) + "\n" + section
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return "", err
	}
	if _, err := r.git("commit", "--quiet", "--message", "release: "+r.version, "CHANGELOG.md"); err != nil {
		return "", err
	}
	section, _, _ = strings.Cut(section, "\n## ")
	annotate := exec.Command("git", "-C", root, "tag", "--annotate", tag, "--cleanup=whitespace", "--file=-") // which keeps headings
	annotate.Stdin = strings.NewReader("Stint " + r.version + "\n\n" + section)
	if said, err := annotate.CombinedOutput(); err != nil {
		return "", fmt.Errorf("git tag: %w: %s", err, said)
	}
	return tag, nil
}

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// unreleased is what a heading of CHANGELOG.md says in place of the day, until the version is released.
const unreleased = "not released yet"

// cut dates the version's section of CHANGELOG.md in a commit, and gives that an annotated tag, whose message is the
// section. It pushes nothing. Where that commit is there without its tag, as in a clone that has no tags, the commit
// gets it.
func cut(root string, day time.Time) (tag string, err error) {
	r := &release{root: root}
	if err := r.readVersion(); err != nil {
		return "", err
	}
	tag = "v" + r.version
	if _, err := r.git("rev-parse", "--verify", "--quiet", "refs/tags/"+tag); err == nil {
		return "", fmt.Errorf("%s has been released: raise the version in cmd/stint/version.go", tag)
	}
	commit, err := r.cutAt()
	if err != nil {
		return "", err
	}
	if commit == "" {
		if err := r.date(day); err != nil {
			return "", err
		}
		commit = "HEAD"
	}
	return tag, r.annotate(tag, commit)
}

// subject is the subject of the commit that cuts the version.
func (r *release) subject() string { return "release: " + r.version }

// cutAt is the commit that cut the version, "" before.
func (r *release) cutAt() (string, error) {
	return r.git("log", "-1", "--format=%H", "--grep=^"+regexp.QuoteMeta(r.subject())+"$")
}

// date puts the day into the heading of the version's section, in a commit.
func (r *release) date(day time.Time) error {
	if changed, err := r.git("status", "--porcelain"); err != nil || changed != "" {
		return errors.Join(err, fmt.Errorf("a release is cut from a commit, and files are changed: %q", changed))
	}
	path := filepath.Join(r.root, "CHANGELOG.md")
	changelog, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	heading := "## " + r.version + " – "
	before, section, found := strings.Cut(string(changelog), heading+unreleased+"\n")
	if !found {
		return fmt.Errorf("CHANGELOG.md has no heading %q", heading+unreleased)
	}
	text := before + heading + day.UTC().Format(time.DateOnly) + "\n" + section
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	if _, err := r.git("commit", "--quiet", "--message", r.subject(), "CHANGELOG.md"); err != nil {
		return errors.Join(err, os.WriteFile(path, changelog, 0o644)) // it can be tried again
	}
	return nil
}

// hasDay reports whether the version's section of CHANGELOG.md has a day.
func (r *release) hasDay() (bool, error) {
	changelog, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	return !strings.Contains(string(changelog), "\n## "+r.version+" – "+unreleased+"\n"), err
}

// annotate gives a commit the tag. The message is the section of the version in the commit's CHANGELOG.md.
func (r *release) annotate(tag, commit string) error {
	changelog, err := r.git("show", commit+":CHANGELOG.md")
	if err != nil {
		return err
	}
	_, section, found := strings.Cut(changelog, "\n## "+r.version+" – ")
	if !found {
		return fmt.Errorf("CHANGELOG.md of %s has no section of %s", commit, r.version)
	}
	_, section, _ = strings.Cut(section, "\n")
	section, _, _ = strings.Cut(section, "\n## ")
	annotate := exec.Command("git", "-C", r.root, "tag", "--annotate", tag, commit, "--cleanup=whitespace", "--file=-") // which keeps headings
	annotate.Stdin = strings.NewReader("Stint " + r.version + "\n\n" + section)
	if said, err := annotate.CombinedOutput(); err != nil {
		return fmt.Errorf("git tag: %w: %s", err, said)
	}
	return nil
}

package rls

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A directory is read again when a file changes. A bad file is reported once, and the rules stay.
func TestReload(t *testing.T) {
	path := t.TempDir()
	modified := time.Unix(1_700_000_000, 0)
	write := func(name, text string) {
		t.Helper()
		file := filepath.Join(path, name)
		modified = modified.Add(time.Second)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, modified, modified); err != nil {
			t.Fatal(err)
		}
	}
	write("a.yaml", "domain: a\n")
	write("note.txt", "not rules: [")
	write(".hidden.yaml", "not rules: [")
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	expect := func(domains int, changed bool, says string) {
		t.Helper()
		got, err := d.Reload()
		text := ""
		if err != nil {
			text = err.Error()
		}
		if n, _ := d.Rules().Counts(); n != domains || got != changed || !strings.HasPrefix(text, says) || (says == "") != (err == nil) {
			t.Errorf("%d domains, changed %t, %v; want %d, %t, %s", n, got, err, domains, changed, says)
		}
	}
	expect(1, false, "")
	write("b.yml", "domain: b\n")
	expect(2, true, "")
	write("b.yml", "domain: c:\n")
	expect(2, false, "b.yml:1: ")
	expect(2, false, "")
	write("b.yml", "domain: c\n")
	expect(2, true, "")
	write("b.yml", "domain: d\n")
	d.read = func(name string) ([]byte, error) {
		return nil, &os.PathError{Op: "open", Path: name, Err: os.ErrPermission}
	}
	expect(2, false, "the rules cannot be read: open "+filepath.Join(path, "a.yaml")+": permission denied")
	expect(2, false, "")
	d.read = os.ReadFile // now it is permitted, which does not change the file's time
	expect(2, true, "")
	expect(2, false, "")
	if err := os.Remove(filepath.Join(path, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	expect(1, true, "")
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	expect(1, false, "the directory of --rls-config cannot be read")
	expect(1, false, "")
}

// A rule keeps its counts when its file is read again.
func TestCountsStay(t *testing.T) {
	before, after := rules(t, header+"  - {key: a, rate_limit: {unlimited: true}}\n"), rules(t, header+"  - {key: b, rate_limit: {unlimited: true}}\n  - {key: a, rate_limit: {unlimited: true}}\n")
	before.setCounts(&Rules{})
	before.all[0].counts.add(false, false)
	after.setCounts(before)
	got := map[string]int64{}
	after.VisitCounts(func(path string, c *Counts) { got[path] = c.Granted.Load() })
	if len(got) != 2 || got["d.a"] != 1 || got["d.b"] != 0 {
		t.Error(got)
	}
}

// A directory that does not exist is an error at startup.
func TestNoDirectory(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "--rls-config") {
		t.Error(err)
	}
}

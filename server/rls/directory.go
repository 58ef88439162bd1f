package rls

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The limits of a directory.
const (
	MaxFiles      = 1000
	MaxTotalBytes = 16 << 20
)

// Directory is a directory with files of rules, NAME.yaml or NAME.yml, each with one domain.
type Directory struct {
	*InUse
	path   string
	read   func(path string) ([]byte, error)
	seen   string // the state of the files when they were last read
	unread string // the last error, if a file could not be read
}

// Open reads a directory. It returns an error if a file is wrong.
func Open(path string) (*Directory, error) {
	d := &Directory{InUse: new(InUse), path: path, read: os.ReadFile}
	_, err := d.Reload()
	return d, err
}

// Reload reads the files again if one was changed, added or removed since the last call. After an error, which it
// returns once for the same files, the rules stay as they are. Calls must not overlap.
func (d *Directory) Reload() (changed bool, err error) {
	defer func() {
		if err != nil {
			d.Refused.Add(1)
		}
	}()
	names, seen, err := d.list()
	if err != nil {
		seen = err.Error()
	}
	if seen == d.seen && d.seen != "" {
		return false, nil
	}
	d.seen = seen
	if err != nil {
		return false, err
	}
	rules := &Rules{}
	for _, name := range names {
		text, err := d.read(filepath.Join(d.path, name))
		if err != nil {
			return false, d.retry(fmt.Errorf("the rules cannot be read: %w", err))
		}
		if err := rules.Add(name, text); err != nil {
			return false, err
		}
	}
	d.unread = ""
	d.Replace(rules)
	return true, nil
}

// retry makes the next call read the files again, because a file may become readable without a change. It returns the
// error unless the last call returned the same.
func (d *Directory) retry(err error) error {
	before := d.unread
	d.seen, d.unread = "", err.Error()
	if before == d.unread {
		return nil
	}
	return err
}

// list returns the names of the files in alphabetical order, and a text that changes when the files change.
func (d *Directory) list() (names []string, seen string, err error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, "", fmt.Errorf("the directory of --rls-config cannot be read: %w", err)
	}
	var all strings.Builder
	all.WriteString("files")
	total := int64(0)
	for _, e := range entries {
		name := e.Name()
		if ext := filepath.Ext(name); strings.HasPrefix(name, ".") || (ext != ".yaml" && ext != ".yml") {
			continue
		}
		info, err := os.Stat(filepath.Join(d.path, name)) // follows links, which Kubernetes uses
		switch {
		case errors.Is(err, os.ErrNotExist):
			continue // it was just removed
		case err != nil:
			return nil, "", fmt.Errorf("the rules cannot be read: %w", err)
		case info.IsDir():
			continue
		}
		names, total = append(names, name), total+info.Size()
		fmt.Fprintf(&all, "\n%s %d %d", name, info.Size(), info.ModTime().UnixNano())
	}
	if len(names) > MaxFiles || total > MaxTotalBytes {
		return nil, "", fmt.Errorf("%s has %d files of rules with %d bytes; at most %d files with %d bytes are allowed", d.path, len(names), total, MaxFiles, MaxTotalBytes)
	}
	return names, all.String(), nil
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// The outputs in outDir, and where -docs copies them to.
var outputs = []struct {
	file  string
	docs  string // below docs/; empty: not copied
	write func(io.Writer, *Report) error
}{
	{"results.json", "", writeJSON},
	{"performance-table.md", "performance-table.md", writeMarkdown},
	{"performance.svg", "performance.svg", writeSVG},
}

// publish prints the tables and writes the files.
func publish(root string, r *Report) error {
	if err := writeText(os.Stdout, r); err != nil {
		return err
	}
	fmt.Println()
	for _, o := range outputs {
		if o.file == "performance.svg" && len(r.Series) == 0 {
			continue
		}
		var content bytes.Buffer
		if err := o.write(&content, r); err != nil {
			return fmt.Errorf("%s: %w", o.file, err)
		}
		paths := []string{filepath.Join(outDir, o.file)}
		if r.Settings.Docs && o.docs != "" {
			paths = append(paths, filepath.Join(root, "docs", o.docs))
		}
		for _, path := range paths {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(path, content.Bytes(), 0o644); err != nil {
				return err
			}
			fmt.Println("wrote", path)
		}
	}
	return nil
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// table is the name of the file with the tables, in outDir and in docs/.
const table = "performance-table.md"

// publish prints the tables and writes them to outDir, and with -docs to docs/ too.
func publish(root string, r *Report) error {
	text := markdown(r)
	fmt.Println(text)
	paths := []string{filepath.Join(outDir, table)}
	if r.Settings.Docs {
		paths = append(paths, filepath.Join(root, "docs", table))
	}
	for _, path := range paths {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
		fmt.Println("wrote", path)
	}
	return nil
}

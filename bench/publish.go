package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// tableFile is the name of the file with the tables, in outDir and in docs/.
const tableFile = "performance-table.md"

// publish prints the tables and writes them to outDir. With -docs it writes a part of them, and the picture, to docs/.
func publish(root string, r *Report) error {
	text := markdown(r, false)
	fmt.Println(text)
	files := map[string]string{filepath.Join(outDir, tableFile): text}
	if r.Docs {
		files[filepath.Join(root, "docs", tableFile)] = markdown(r, true)
		files[filepath.Join(root, "docs", "cpu.svg")] = cpuPicture(r.Figures[""])
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(path, []byte(files[path]), 0o644); err != nil {
			return err
		}
		fmt.Println("wrote", path)
	}
	return nil
}

package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// publish prints the tables and writes them to outDir. With -docs it writes a part of them, and of those of the other
// parts, into docs/performance.md, and the picture.
func publish(root string, r *Report, kept Kept) error {
	text := markdown(r)
	fmt.Println(text)
	files := map[string]string{filepath.Join(outDir, "tables.md"): text}
	if kept.add(r); r.Docs {
		r = kept.report(r)
		file := filepath.Join(root, "docs", "performance.md")
		page, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if files[file], err = docsPage(string(page), r); err != nil {
			return err
		}
		files[filepath.Join(root, "docs", "cpu.svg")] = cpuPicture(r.Figures[onlyServers])
	}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(path, []byte(files[path]), 0o644); err != nil {
			return err
		}
		fmt.Println("wrote", path)
	}
	return kept.write(outDir)
}

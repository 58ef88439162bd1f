// Command comparison puts the same traffic through every algorithm, in virtual time and with the engine alone, and
// measures how far the sliding window counter's estimate is off. It writes the results into the handbook:
//
//	go run ./docs/comparison
//
// from the root of the repository replaces the tables in docs/algorithms.md and the pictures beside it. Nothing in it
// depends on a clock or on chance, so the same source always gives the same figures. It also draws a picture of the CPU that
// docs/performance-table.md measured.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

const page = "algorithms.md"

// picture is a file beside the page.
type picture struct {
	name  string
	drawn []byte
}

func pictures(folder string) ([]picture, error) {
	cpu, err := cpuChart(folder)
	all := []picture{{"algorithms.svg", chart()}, {"cpu.svg", cpu}}
	for _, t := range timelines() {
		all = append(all, picture{t.picture, t.draw()})
	}
	return all, err
}

func main() {
	if err := write("docs"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write brings the page and the pictures in a folder up to date.
func write(folder string) error {
	text, err := os.ReadFile(filepath.Join(folder, page))
	if err != nil {
		return err
	}
	text, err = updated(text)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, page), text, 0o644); err != nil {
		return err
	}
	drawn, err := pictures(folder)
	if err != nil {
		return err
	}
	for _, p := range drawn {
		if err := os.WriteFile(filepath.Join(folder, p.name), p.drawn, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// updated returns the page with each part between "<!-- made: name -->" and "<!-- end -->" made again.
func updated(text []byte) ([]byte, error) {
	for _, part := range []struct {
		name string
		make func() string
	}{
		{"simulation", simulationTable}, {"estimate", estimateTable}, {"memory", memoryTable},
	} {
		place := regexp.MustCompile(`(?s)(<!-- made: ` + part.name + ` -->\n).*?(<!-- end -->)`)
		if !place.Match(text) {
			return nil, fmt.Errorf("%s has no place for the table %q", page, part.name)
		}
		text = place.ReplaceAllFunc(text, func(old []byte) []byte {
			ends := place.FindSubmatch(old)
			return bytes.Join([][]byte{ends[1], []byte(part.make()), ends[2]}, nil)
		})
	}
	return text, nil
}

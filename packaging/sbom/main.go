// Command sbom writes a CycloneDX list of what a Go program was built from, as the program itself records it: the
// modules that go version -m shows, and Go's standard library.
//
//	go run ./sbom PROGRAM DOCUMENT VERSION
package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintf(os.Stderr, "usage: sbom PROGRAM DOCUMENT VERSION, got %d arguments\n", len(os.Args)-1)
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// write reads the program and replaces the document.
func write(program, document, version string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("%s tells no modules; is it a Go program? %w", program, err)
	}
	file, err := os.Create(document)
	if err != nil {
		return err
	}
	if err := encode(file, list(info, version)); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

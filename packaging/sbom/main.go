// Command sbom writes a CycloneDX list of the components of a Go program: the modules that the program records (see go
// version -m), and Go's standard library. It takes their licences from the table in docs/licences.md.
//
//	go run ./sbom PROGRAM DOCUMENT VERSION ../docs/licences.md
package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintf(os.Stderr, "usage: sbom PROGRAM DOCUMENT VERSION LICENCES, got %d arguments\n", len(os.Args)-1)
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

// write reads the program and replaces the document.
func write(program, document, version, licencePage string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("%s has no list of modules; is it a Go program? %w", program, err)
	}
	known, err := readLicences(licencePage)
	if err != nil {
		return err
	}
	bom, err := list(info, version, known)
	if err != nil {
		return err
	}
	file, err := os.Create(document)
	if err != nil {
		return err
	}
	if err := encode(file, bom); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

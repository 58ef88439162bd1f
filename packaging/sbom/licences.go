package main

import (
	"fmt"
	"os"
	"regexp"

	"github.com/CycloneDX/cyclonedx-go"
)

// licences are the SPDX identifiers of components, from the table in docs/licences.md.
type licences map[string]string

var licenceRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ([^|]+) \\| ([^|]+) \\|$")

// licenceKey names a component in the table. The program itself and Go's standard library have no version there.
func licenceKey(path, version string) string {
	if path == "github.com/stintdb/stint" || path == "std" {
		return path
	}
	return path + "@" + version
}

func readLicences(page string) (licences, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	all := licences{}
	for _, row := range licenceRow.FindAllStringSubmatch(string(text), -1) {
		all[licenceKey(row[1], row[2])] = row[3]
	}
	return all, nil
}

// note adds its licence to a component. It is an error if none is known.
func (l licences) note(c *cyclonedx.Component) error {
	id := l[licenceKey(c.Name, c.Version)]
	if id == "" {
		return fmt.Errorf("the licence of %s %s is not known; 'go generate ./docs' updates the table of licences", c.Name, c.Version)
	}
	c.Licenses = &cyclonedx.Licenses{{License: &cyclonedx.License{ID: id}}}
	return nil
}

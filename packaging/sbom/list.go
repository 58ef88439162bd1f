package main

import (
	"debug/buildinfo"
	"errors"
	"io"
	"runtime/debug"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// list is the bill of materials of a program. It has no time and no random serial number, so that one program always
// has the same list. A component without a licence is an error.
func list(info *buildinfo.BuildInfo, version string, known licences) (*cyclonedx.BOM, error) {
	program := component(info.Main.Path, version)
	program.Type = cyclonedx.ComponentTypeApplication
	missing := known.note(&program)
	goVersion, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ") // the rest are experiments
	components := []cyclonedx.Component{component("std", goVersion)}
	for _, module := range info.Deps {
		components = append(components, dependency(module))
	}
	needs := make([]string, 0, len(components))
	for i := range components {
		missing = errors.Join(missing, known.note(&components[i]))
		needs = append(needs, components[i].BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &program}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: program.BOMRef, Dependencies: &needs}}
	return bom, missing
}

// dependency is a module, or its replacement.
func dependency(module *debug.Module) cyclonedx.Component {
	if module.Replace != nil {
		module = module.Replace
	}
	c := component(module.Path, module.Version)
	if module.Sum != "" {
		// This is no hash in CycloneDX's sense, because it is the hash of a list of files, like those in go.sum.
		c.Properties = &[]cyclonedx.Property{{Name: "go.sum", Value: module.Sum}}
	}
	return c
}

func component(path, version string) cyclonedx.Component {
	url := "pkg:golang/" + path + "@" + version
	return cyclonedx.Component{BOMRef: url, PackageURL: url, Type: cyclonedx.ComponentTypeLibrary, Name: path, Version: version}
}

func encode(w io.Writer, bom *cyclonedx.BOM) error {
	return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

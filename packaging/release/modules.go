package main

import (
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"os"
	"slices"
	"time"
)

// bill is a software bill of materials in the form of CycloneDX 1.6, https://cyclonedx.org/docs/1.6/json/.
type bill struct {
	Format     string      `json:"bomFormat"`
	Spec       string      `json:"specVersion"`
	Version    int         `json:"version"`
	Metadata   metadata    `json:"metadata"`
	Components []component `json:"components"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"purl"` // package URL
}

// modules lists the modules that are in the programs, which are the same for all targets or nearly so.
func (r *release) modules(targets []target) error {
	versions := map[string]string{"stdlib": goVersion()[len("go"):]}
	for _, t := range targets {
		info, err := buildinfo.ReadFile(t.program)
		if err != nil {
			return err
		}
		for _, m := range info.Deps {
			versions[m.Path] = m.Version
		}
	}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{r.moment.Format(time.RFC3339),
		component{"application", r.ProjectName, r.version, "pkg:golang/github.com/stintdb/stint@v" + r.version}}}
	for path, version := range versions {
		b.Components = append(b.Components, component{"library", path, version, "pkg:golang/" + path + "@" + version})
	}
	slices.SortFunc(b.Components, func(x, y component) int { return cmp.Compare(x.Name, y.Name) })
	text, err := json.MarshalIndent(b, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.path("stint_"+r.version+".cdx.json"), append(text, '\n'), 0o644)
}

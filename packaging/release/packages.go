package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the formats of .goreleaser.yaml
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages makes the package of each format for a target.
func (r *release) packages(t target) error {
	said := r.NFPMs[0]
	contents := files.Contents{{Source: t.program, Destination: said.Bindir + "/stint", FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.moment}}}
	for _, c := range said.Contents {
		source := c.Source
		if source != "" { // a directory has none
			source = filepath.Join(r.root, source)
		}
		contents = append(contents, &files.Content{
			Source: source, Destination: c.Destination, Type: c.Type, FileInfo: &files.ContentFileInfo{Mode: c.FileInfo.Mode, MTime: r.moment},
		})
	}
	for _, format := range said.Formats {
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(&nfpm.Info{
			Name: said.PackageName, Version: r.version, Arch: t.processor, Platform: t.system, Section: said.Section, Priority: said.Priority, MTime: r.moment,
			Maintainer: said.Maintainer, Description: said.Description, Homepage: said.Homepage, License: said.License,
			Overridables: nfpm.Overridables{Contents: contents, Scripts: nfpm.Scripts{PostInstall: filepath.Join(r.root, said.Scripts.PostInstall), PreRemove: filepath.Join(r.root, said.Scripts.PreRemove)}, RPM: nfpm.RPM{BuildHost: "localhost"}},
		})
		name := r.path(fmt.Sprintf("%s_%s_%s.%s", said.PackageName, r.version, t.processor, format))
		file, err := os.Create(name)
		if err == nil {
			err = errors.Join(packager.Package(info, file), file.Close())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

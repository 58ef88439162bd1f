package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // the formats of .goreleaser.yaml
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// prereleases marks packages of a version that is not released yet, so that the release replaces them: 0.3.0~dev is
// older than 0.3.0. Alpine has a few words for it, and dev is none of them.
var prereleases = map[string]string{"apk": "pre"}

// packages makes the package of each format for a target.
func (r *release) packages(t target) error {
	for _, format := range r.NFPMs[0].Formats {
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		info := r.packageInfo(t, format)
		for _, script := range []string{info.Scripts.PostInstall, info.Scripts.PreRemove} {
			if err := os.Chtimes(script, r.moment, r.moment); err != nil { // the package for Alpine has the files' times
				return err
			}
		}
		name := r.path(fmt.Sprintf("%s_%s_%s.%s", r.NFPMs[0].PackageName, r.version, t.processor, format))
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

// packageInfo is what .goreleaser.yaml says of the packages of a format.
func (r *release) packageInfo(t target, format string) *nfpm.Info {
	said := r.NFPMs[0]
	program := &files.Content{
		Source: t.program, Destination: said.Bindir + "/stint", FileInfo: &files.ContentFileInfo{Mode: 0o755, MTime: r.moment},
	}
	info := &nfpm.Info{
		Name: said.PackageName, Version: r.version, Arch: t.processor, Platform: t.system, MTime: r.moment,
		Section: said.Section, Priority: said.Priority, Maintainer: said.Maintainer, Description: said.Description,
		Homepage: said.Homepage, License: said.License,
		Overridables: nfpm.Overridables{Contents: files.Contents{program}, RPM: nfpm.RPM{BuildHost: "localhost"}},
	}
	if !r.isReleased {
		info.Prerelease = cmp.Or(prereleases[format], "dev")
	}
	of := said.NFPMOverridables
	if instead, is := said.Overrides[format]; is {
		of = instead
	}
	for _, c := range of.Contents {
		info.Contents = append(info.Contents, r.content(c))
	}
	info.Scripts.PostInstall = filepath.Join(r.root, of.Scripts.PostInstall)
	info.Scripts.PreRemove = filepath.Join(r.root, of.Scripts.PreRemove)
	return nfpm.WithDefaults(info)
}

func (r *release) content(c config.NFPMContent) *files.Content {
	source := c.Source
	if source != "" { // a directory has none
		source = filepath.Join(r.root, source)
	}
	return &files.Content{
		Source: source, Destination: c.Destination, Type: c.Type,
		FileInfo: &files.ContentFileInfo{Mode: c.FileInfo.Mode, MTime: r.moment},
	}
}

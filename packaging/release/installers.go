package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// placeholder is a word that a file of packaging/install has for what only a release knows: the version, the address of
// the archives, and their checksums.
var placeholder = regexp.MustCompile(`@[A-Z][A-Z0-9_]*@`)

// downloads is the address of the files of a version.
const downloads = "https://github.com/stintdb/stint/releases/download/v"

// installers writes the files by which people install the archives: a script for any system, a cask for Homebrew, a
// PKGBUILD for Arch Linux, and a flake for Nix, as the archive that `nix run URL` takes.
func (r *release) installers(targets []target) error {
	values := map[string]string{
		"@VERSION@": r.version, "@PACKAGE_VERSION@": r.version, "@DOWNLOAD@": downloads + r.version,
	}
	if !r.isReleased {
		values["@PACKAGE_VERSION@"] += "dev" // which pacman sorts before the version
	}
	for _, t := range targets {
		content, err := os.ReadFile(r.path(r.archiveName(t)))
		if err != nil {
			return err
		}
		name := strings.ToUpper("@sha256_" + t.system + "_" + t.processor + "@")
		values[name] = fmt.Sprintf("%x", sha256.Sum256(content))
	}
	for name, mode := range map[string]os.FileMode{"install.sh": 0o755, "stint.rb": 0o644, "PKGBUILD": 0o644} {
		text, err := r.fill(name, values)
		if err != nil {
			return err
		}
		if err := os.WriteFile(r.path(name), text, mode); err != nil {
			return err
		}
	}
	flake, err := r.fill("flake.nix", values)
	if err != nil {
		return err
	}
	return r.store("stint_"+r.version+"_flake.tar.gz", []entry{
		{name: "stint/", mode: 0o755}, {name: "stint/flake.nix", mode: 0o644, content: flake},
	})
}

// fill is a file of packaging/install with its placeholders filled in.
func (r *release) fill(name string, values map[string]string) (text []byte, err error) {
	if text, err = os.ReadFile(filepath.Join(r.root, "packaging/install", name)); err != nil {
		return nil, err
	}
	text = placeholder.ReplaceAllFunc(text, func(word []byte) []byte {
		value, is := values[string(word)]
		if !is {
			err = fmt.Errorf("packaging/install/%s: nothing stands for %s", name, word)
		}
		return []byte(value)
	})
	return text, err
}

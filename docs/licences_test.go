package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

//go:generate go test -run TestLicences -update

// licences are those under which a dependency may come, and a sentence that each has and no other.
var licences = []struct{ name, has string }{
	{"Apache-2.0", "Apache License\n"},
	{"MPL-2.0", "Mozilla Public License, version 2.0"},
	{"MPL-2.0", "Mozilla Public License Version 2.0"},
	{"BSD-3-Clause", "names of its contributors may be used"},
	{"BSD-3-Clause", "contributors may be used to endorse"},
	{"BSD-3-Clause", "may be used to endorse or promote products"},
	{"BSD-2-Clause", "Redistributions in binary form must reproduce"},
	{"MIT", "The above copyright notice and this permission notice"},
	{"MIT", "Permission is hereby granted, free of charge"},
	{"ISC", "Permission to use, copy, modify, and/or distribute this software"},
}

// TestLicences lists the licences of everything that is linked into the server, on every system it is built for, and
// fails for one that is none of the above.
func TestLicences(t *testing.T) {
	dirs := map[string]string{} // of modules with their versions
	for _, system := range []string{"linux", "darwin"} {
		list := testserver.Command(t, "go", "list", "-deps", "-json=Module,Standard", "./cmd/stint")
		list.Dir, list.Env, list.Stderr = root, append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0"), os.Stderr
		out, err := list.Output()
		if err != nil {
			t.Fatal(err)
		}
		for in := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Module *struct {
					Path, Version, Dir string
					Main               bool
				}
			}
			if err := in.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if p.Module != nil && !p.Module.Main {
				dirs["`"+p.Module.Path+"` | "+p.Module.Version] = p.Module.Dir
			}
		}
	}
	var page strings.Builder
	page.WriteString("# Licences of the server's modules\n\n<!-- Made by \"go generate ./docs\". -->\n\n" +
		"For whoever distributes Stint: the licences of Stint itself, of Go's standard library, and of every module in the server's program.\n\n| module | version | licence |\n|---|---|---|\n")
	const stint = "`github.com/stintdb/stint` | this one"
	names := append([]string{stint}, slices.Sorted(maps.Keys(dirs))...)
	dirs[stint] = root
	for _, name := range names {
		licence, err := licenceOf(dirs[name])
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		fmt.Fprintf(&page, "| %s | %s |\n", name, licence)
		if name == stint {
			page.WriteString("| `std` | the version of Go that built the program | BSD-3-Clause |\n") // not every installation of Go has its licence beside it
		}
	}
	const file = root + "/docs/licences.md"
	if *update {
		if err := os.WriteFile(file, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != page.String() {
		t.Errorf("docs/licences.md is not what the server is built from: run go generate ./docs (%v)", err)
	}
	if len(names) < 10 {
		t.Errorf("only %d modules were found", len(names))
	}
}

func licenceOf(dir string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "LICEN[CS]E*"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("no licence in %s", dir)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		return "", err
	}
	flat := strings.Join(strings.Fields(string(text)), " ") + "\n"
	for _, l := range licences {
		if strings.Contains(flat, strings.TrimSpace(l.has)) {
			return l.name, nil
		}
	}
	return "", fmt.Errorf("%s is a licence that is not known here", files[0])
}

package main

import (
	"debug/buildinfo"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/CycloneDX/cyclonedx-go"
)

const licencePage = "../../docs/licences.md"

// TestList builds the server and compares its list with go version -m: every module, with version and hash, and
// otherwise only Go itself.
func TestList(t *testing.T) {
	folder := t.TempDir()
	program, document := filepath.Join(folder, "stint"), filepath.Join(folder, "stint.cdx.json")
	build := exec.Command("go", "build", "-trimpath", "-o", program, "./cmd/stint")
	build.Dir, build.Env = "../..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := write(program, document, "0.0.9", licencePage); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "version", "-m", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	want := []string{"std " + lines[0][strings.LastIndex(lines[0], " go")+len(" go"):]}
	for _, line := range lines[1:] {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "dep" {
			want = append(want, strings.Join(fields[1:], " "))
		}
	}

	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var bom cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(strings.NewReader(string(text)), cyclonedx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range *bom.Components {
		line := c.Name + " " + c.Version
		if c.Properties != nil {
			line += " " + (*c.Properties)[0].Value
		}
		got = append(got, line)
		if c.PackageURL != "pkg:golang/"+c.Name+"@"+c.Version {
			t.Errorf("the address of %s is %s", c.Name, c.PackageURL)
		}
	}
	if !slices.Equal(got, want) || len(want) < 10 {
		t.Errorf("it lists\n%s\n\nand go version -m\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if about := bom.Metadata.Component; about.Name != "github.com/stintdb/stint" || about.Version != "0.0.9" {
		t.Errorf("it is about %s %s", about.Name, about.Version)
	}
	checkLicences(t, append(*bom.Components, *bom.Metadata.Component))
	if len(*(*bom.Dependencies)[0].Dependencies) != len(want) {
		t.Error("the program does not depend on everything in it")
	}
}

// checkLicences: every component has a licence, and some have those that are known to be theirs.
func checkLicences(t *testing.T, components []cyclonedx.Component) {
	t.Helper()
	known := map[string]string{"github.com/stintdb/stint": "Apache-2.0", "std": "BSD-3-Clause", "github.com/hashicorp/raft": "MPL-2.0", "go.etcd.io/bbolt": "MIT"}
	for _, c := range components {
		switch {
		case c.Licenses == nil || len(*c.Licenses) != 1 || (*c.Licenses)[0].License.ID == "":
			t.Errorf("%s has no licence", c.Name)
		case known[c.Name] == (*c.Licenses)[0].License.ID:
			delete(known, c.Name)
		}
	}
	if len(known) > 0 {
		t.Errorf("these are not as they should be: %v", known)
	}
}

// TestNoLicence: a component that is not in the table, here because of its version, is an error.
func TestNoLicence(t *testing.T) {
	info := &buildinfo.BuildInfo{GoVersion: "go1.26", Main: debug.Module{Path: "github.com/stintdb/stint"},
		Deps: []*debug.Module{{Path: "go.etcd.io/bbolt", Version: "v0.0.1"}}}
	known, err := readLicences(licencePage)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := list(info, "0.0.9", known); err == nil || !strings.Contains(err.Error(), "the licence of go.etcd.io/bbolt v0.0.1 is not known") {
		t.Errorf("the error is %v", err)
	}
}

// TestNotAProgram: a file without the records of a build is refused, and no document is left for it.
func TestNotAProgram(t *testing.T) {
	document := filepath.Join(t.TempDir(), "none.cdx.json")
	err := write("main.go", document, "0.0.9", licencePage)
	if err == nil || !strings.Contains(err.Error(), "main.go has no list of modules") {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(document); err == nil {
		t.Error("it left a document")
	}
}

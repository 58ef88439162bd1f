package packaging

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
	"golang.org/x/tools/go/packages"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testsize"
)

// release reads .goreleaser.yaml as goreleaser does: an unknown field is an error.
func release(t *testing.T) config.Project {
	t.Helper()
	project, err := config.LoadReader(strings.NewReader(read(t, ".goreleaser.yaml")))
	if err != nil {
		t.Fatal(err)
	}
	return project
}

// TestRelease holds every path, target and variable of .goreleaser.yaml to the repository.
func TestRelease(t *testing.T) {
	project := release(t)
	if len(project.Builds) != 1 || len(project.NFPMs) != 1 || len(project.Archives) != 1 {
		t.Fatalf("%d builds, %d packages, %d archives, not one of each", len(project.Builds), len(project.NFPMs), len(project.Archives))
	}
	build := project.Builds[0]
	variables := regexp.MustCompile(`-X main\.(\w+)=`).FindAllStringSubmatch(strings.Join(build.Ldflags, " "), -1)
	for _, v := range variables {
		if !regexp.MustCompile(`(?m)^var (\w+, )*` + v[1] + `(, \w+)* string$`).MatchString(read(t, build.Main+"/version.go")) {
			t.Errorf("%q sets %s, which is no variable of the program", build.Ldflags, v[1])
		}
	}
	if len(variables) == 0 {
		t.Errorf("%q sets no version", build.Ldflags)
	}
	var files []string
	for _, file := range project.Archives[0].Files {
		files = append(files, file.Source)
	}
	contents := project.NFPMs[0].Contents
	for _, instead := range project.NFPMs[0].Overrides {
		contents = append(contents, instead.Contents...)
	}
	for _, content := range contents {
		if content.Type != "dir" {
			files = append(files, content.Source)
		}
	}
	for _, file := range files {
		if info, err := os.Stat(filepath.Join(root, file)); err != nil || !info.Mode().IsRegular() {
			t.Errorf("%s is not a file: %v", file, err)
		}
	}
	if !slices.Contains(files, "LICENSE") || len(files) < 6 {
		t.Errorf("only %q go along", files)
	}
	// goreleaser removes its folder, and releases from a tree without changes only.
	if !strings.Contains(read(t, ".gitignore"), "/dist/\n") {
		t.Error("git does not ignore /dist/")
	}
}

// TestReleaseTargets compiles the program for every processor of every system of a release by night. For a change it
// takes one processor of each system, and of systems other than this one it checks the types alone: to compile for them
// takes minutes without a cache.
func TestReleaseTargets(t *testing.T) {
	build := release(t).Builds[0]
	if len(build.Goos) < 2 || len(build.Goos) < len(build.Goarch) {
		t.Fatalf("only for %q on %q, or not for every processor", build.Goos, build.Goarch)
	}
	for i, system := range build.Goos {
		for j, processor := range build.Goarch {
			if j != i%len(build.Goarch) && !testsize.IsNightly() {
				continue
			}
			env := append(append(os.Environ(), build.Env...), "GOOS="+system, "GOARCH="+processor)
			if system != runtime.GOOS && !testsize.IsNightly() {
				for _, err := range typeErrors(t, build.Main, env) {
					t.Errorf("%s on %s: %v", system, processor, err)
				}
				continue
			}
			compile := testserver.Command(t, "go", append(append([]string{"build", "-o", os.DevNull}, build.Flags...), build.Main)...)
			compile.Dir, compile.Env = root, env
			if out, err := compile.CombinedOutput(); err != nil {
				t.Errorf("%s on %s: %v\n%s", system, processor, err, out)
			}
		}
	}
}

// typeErrors returns the errors in the types of a program and its dependencies, for the system and the processor of
// env.
func typeErrors(t *testing.T, program string, env []string) (found []packages.Error) {
	t.Helper()
	loaded, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax, Dir: root, Env: env}, program)
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded) != 1 || loaded[0].Name != "main" || len(loaded[0].Imports) == 0 {
		t.Errorf("%s is not one program: %v", program, loaded)
	}
	packages.Visit(loaded, nil, func(p *packages.Package) { found = append(found, p.Errors...) })
	return found
}

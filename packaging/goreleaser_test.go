package packaging

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
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
	if len(project.Builds) != 1 || len(project.NFPMs) != 1 || len(project.Archives) != 1 || len(project.SBOMs) != 1 {
		t.Fatalf("%d builds, %d packages, %d archives, %d lists of modules, not one of each",
			len(project.Builds), len(project.NFPMs), len(project.Archives), len(project.SBOMs))
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
	for _, content := range project.NFPMs[0].Contents {
		files = append(files, content.Source)
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
	for _, ignored := range []string{"/dist/\n", "/bin/\n"} {
		if !strings.Contains(read(t, ".gitignore"), ignored) {
			t.Errorf("git does not ignore %s", ignored)
		}
	}
}

// TestReleaseTargets compiles the program for every system of a release.
func TestReleaseTargets(t *testing.T) {
	build := release(t).Builds[0]
	if len(build.Goos)*len(build.Goarch) < 4 {
		t.Errorf("only for %q on %q", build.Goos, build.Goarch)
	}
	for _, system := range build.Goos {
		for _, processor := range build.Goarch {
			compile := exec.Command("go", append(append([]string{"build", "-o", os.DevNull}, build.Flags...), build.Main)...)
			compile.Dir = root
			compile.Env = append(append(os.Environ(), build.Env...), "GOOS="+system, "GOARCH="+processor)
			if out, err := compile.CombinedOutput(); err != nil {
				t.Errorf("%s on %s: %v\n%s", system, processor, err, out)
			}
		}
	}
}

// TestReleaseSBOM runs the hook that makes the program which lists modules, and then that program from goreleaser's
// folder, with the arguments it gets there.
func TestReleaseSBOM(t *testing.T) {
	project := release(t)
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	lister := filepath.Join(t.TempDir(), "sbom")
	made := "../bin/sbom"
	for _, hook := range project.Before.Hooks {
		args := strings.Fields(strings.Replace(hook, made, lister, 1))
		command := exec.Command(args[0], args[1:]...)
		command.Dir = checkout
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", hook, err, out)
		}
	}
	sbom := project.SBOMs[0]
	if sbom.Cmd != made || sbom.Artifacts != "binary" {
		t.Fatalf("%s is run on each %s", sbom.Cmd, sbom.Artifacts)
	}
	document := filepath.Join(t.TempDir(), "list.cdx.json")
	values := strings.NewReplacer("$artifact", buildServer(t), "$document", document, "{{ .Version }}", "0.0.9")
	var args []string
	for _, arg := range sbom.Args {
		args = append(args, values.Replace(arg))
	}
	output(t, lister, args...)
	if text, err := os.ReadFile(document); err != nil || !strings.Contains(string(text), "hashicorp/raft@") || !strings.Contains(string(text), "MPL-2.0") {
		t.Errorf("no list of the server's modules and their licences: %v\n%s", err, text)
	}
}

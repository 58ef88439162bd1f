// Command release builds all parts of a release into a folder, without publishing anything: archives, packages of
// Debian, RPM and Alpine, the image, the Helm chart, a list of the modules in the program (CycloneDX), and the files of
// packaging/install, by which other systems install the archives. The same commit and the same Go give the same bytes.
// `.ci/run release` adds the packages of Python and npm, and checksums; .github/workflows/release.yml publishes it all.
// .goreleaser.yaml says what belongs to archives and packages, docker/Dockerfile describes the image.
//
//	go run -C packaging ./release -out ../dist
//	go run -C packaging ./release -only linux/amd64 # the archive and the packages of one platform
//	go run -C packaging ./release -tag # first, in a clone: cuts the version of cmd/stint/version.go; pushing it is up to you
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/goreleaser/goreleaser/v2/pkg/config"
)

// release is what all parts of one have in common.
type release struct {
	root, out string
	version   string
	commit    string
	moment    time.Time // of the commit: all files have it

	isReleased bool // CHANGELOG.md has a day for the version

	config.Project
}

// target is a system and a processor, and the program built for them.
type target struct{ system, processor, program string }

func main() {
	root := flag.String("root", "..", "the folder of the repository")
	out := flag.String("out", "../dist", "the folder for the release; what is in it is removed")
	only := flag.String("only", "", "the only platform to build the archive and the packages for, such as linux/amd64")
	tag := flag.Bool("tag", false, "build nothing: date the version's section of CHANGELOG.md in a commit, and tag it")
	flag.Parse()
	var err error
	if *tag {
		var name string
		if name, err = cut(*root, time.Now()); err == nil {
			fmt.Println(name)
		}
	} else {
		err = build(*root, *out, *only)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// build makes a release, or only the archive and the packages of one platform, such as linux/amd64.
func build(root, out, only string) error {
	r, err := newRelease(root, out)
	if err != nil {
		return err
	}
	targets, err := r.programs(only)
	if err != nil {
		return err
	}
	for _, t := range targets {
		if err := r.archive(t); err != nil {
			return err
		}
		if t.system == "linux" {
			if err := r.packages(t); err != nil {
				return err
			}
		}
	}
	if only != "" {
		return os.RemoveAll(r.path("programs"))
	}
	for _, part := range []func([]target) error{r.image, r.modules, r.chart, r.installers} {
		if err := part(targets); err != nil {
			return err
		}
	}
	return os.RemoveAll(r.path("programs"))
}

// versionLine is where the version stands.
var versionLine = regexp.MustCompile(`(?m)^const latest = "(.+)"$`)

func (r *release) readVersion() error {
	source, err := os.ReadFile(filepath.Join(r.root, "cmd/stint/version.go"))
	if err != nil {
		return err
	}
	found := versionLine.FindSubmatch(source)
	if found == nil {
		return fmt.Errorf("cmd/stint/version.go has no line %s", versionLine)
	}
	r.version = string(found[1])
	return nil
}

func newRelease(root, out string) (*release, error) {
	r := &release{root: root, out: out}
	if err := r.readVersion(); err != nil {
		return nil, err
	}
	said, err := r.git("log", "-1", "--format=%H %ct")
	if err != nil {
		return nil, err
	}
	commit, seconds, _ := strings.Cut(said, " ")
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, err
	}
	r.commit, r.moment = commit, time.Unix(unix, 0).UTC()
	if released, err := r.cutAt(); err != nil {
		return nil, err
	} else if released != "" && released != commit {
		fmt.Fprintf(os.Stderr, "release: %s was cut at commit %.12s, and this is %.12s: what is built here is for tests, not to be published\n", r.version, released, commit)
	}
	if r.isReleased, err = r.hasDay(); err != nil {
		return nil, err
	}
	if r.Project, err = config.Load(filepath.Join(root, ".goreleaser.yaml")); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(out); err != nil {
		return nil, err
	}
	return r, os.MkdirAll(r.path("programs"), 0o755)
}

func (r *release) git(args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", r.root}, args...)...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// path is the path of a file of the release.
func (r *release) path(name string) string { return filepath.Join(r.out, name) }

// programs builds the program for each target, or for one of them.
func (r *release) programs(only string) (targets []target, err error) {
	said := r.Builds[0]
	flags := strings.NewReplacer("{{ .Version }}", r.version, "{{ .FullCommit }}", r.commit)
	for _, system := range said.Goos {
		for _, processor := range said.Goarch {
			if only != "" && only != system+"/"+processor {
				continue
			}
			t := target{system, processor, r.path(filepath.Join("programs", system+"-"+processor, said.Binary))}
			if system == "windows" {
				t.program += ".exe"
			}
			file, err := filepath.Abs(t.program)
			if err != nil {
				return nil, err
			}
			args := append([]string{"build", "-buildvcs=false", "-ldflags", flags.Replace(strings.Join(said.Ldflags, " ")), "-o", file}, said.Flags...)
			compile := exec.Command("go", append(args, said.Main)...)
			compile.Dir, compile.Stderr = r.root, os.Stderr
			compile.Env = append(append(os.Environ(), said.Env...), "GOOS="+system, "GOARCH="+processor)
			if err := compile.Run(); err != nil {
				return nil, fmt.Errorf("%s on %s: %w", system, processor, err)
			}
			targets = append(targets, t)
		}
	}
	if targets == nil {
		return nil, fmt.Errorf("-only: must be one of %q with one of %q, such as linux/amd64, got %q", said.Goos, said.Goarch, only)
	}
	return targets, nil
}

// goVersion is the version of Go that this program, and so the release, is built with.
func goVersion() string {
	info, _ := debug.ReadBuildInfo()
	return info.GoVersion
}

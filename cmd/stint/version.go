package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/stintdb/stint/cmd/stint/cli"
)

//go:generate go test -run TestOneVersion -update

// latest is the newest version in CHANGELOG.md. A build of a commit without a tag is called this and "+dev". After a
// change, "go generate ./cmd/stint" writes it wherever else it stands.
const latest = "0.4.0"

// version and commit are set by releases: -ldflags "-X main.version=1.2.3 -X main.commit=…". Otherwise they come from
// the build information that Go writes into the program.
var version, commit string

// build identifies the program.
type build struct {
	version string // such as 0.2.0, or 0.2.0+dev
	commit  string // 12 digits, and "-dirty" if files were changed; "" if unknown
}

// thisBuild identifies the running program, for `stint version`, the first line, INFO and metrics.
func thisBuild() build {
	info, _ := debug.ReadBuildInfo()
	return identify(build{version, commit}, info)
}

// releasedVersion is the version of a module that was built from a release, as by go install.
var releasedVersion = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// identify completes a build whose version and commit may be set, from the build information, which may be nil.
func identify(set build, info *debug.BuildInfo) build {
	b := build{version: latest + "+dev"}
	if info != nil {
		if releasedVersion.MatchString(info.Main.Version) {
			b.version = strings.TrimPrefix(info.Main.Version, "v")
		}
		recorded := map[string]string{}
		for _, s := range info.Settings {
			recorded[s.Key] = s.Value
		}
		b.commit = shortCommit(recorded["vcs.revision"])
		if b.commit != "" && recorded["vcs.modified"] == "true" {
			b.commit += "-dirty"
		}
	}
	return build{cmp.Or(set.version, b.version), cmp.Or(shortCommit(set.commit), b.commit)}
}

func shortCommit(revision string) string { return revision[:min(12, len(revision))] }

// String is one line: the version, the commit, and the version of Go and the system it was built for.
func (b build) String() string {
	commit := ""
	if b.commit != "" {
		commit = "commit " + b.commit + ", "
	}
	return fmt.Sprintf("stint %s (%s%s, %s/%s)", b.version, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// printVersion is the command `stint version`.
func (p *process) printVersion(_ context.Context, args []string) error {
	if len(args) > 0 {
		return cli.Errorf("version takes no arguments, got '%s'", args[0])
	}
	_, err := fmt.Fprintln(p.stdout, thisBuild())
	return err
}

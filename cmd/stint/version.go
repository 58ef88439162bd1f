package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is the released version. Releases set it with -ldflags "-X main.version=1.2.3"; without that it comes from
// the build's own records.
var version string

// version is the command `stint version`.
func (p *process) version(_ context.Context, args []string) error {
	if len(args) > 0 {
		return usagef("version takes no arguments, got '%s'", args[0])
	}
	info, _ := debug.ReadBuildInfo()
	_, err := fmt.Fprintln(p.stdout, describeBuild(version, info))
	return err
}

// versionNumber is the version alone, for INFO, HELLO and the like.
func versionNumber() string {
	info, _ := debug.ReadBuildInfo()
	return numberOf(version, info)
}

func numberOf(released string, info *debug.BuildInfo) string {
	switch {
	case released != "":
		return released
	case info != nil && info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	}
	return "dev"
}

// describeBuild is one line: the version, the commit it was built from, and by which Go for which system.
func describeBuild(released string, info *debug.BuildInfo) string {
	commit := ""
	if info != nil {
		recorded := map[string]string{}
		for _, s := range info.Settings {
			recorded[s.Key] = s.Value
		}
		if revision := recorded["vcs.revision"]; revision != "" {
			commit = "commit " + revision[:min(12, len(revision))]
			if recorded["vcs.modified"] == "true" {
				commit += " with changes"
			}
			commit += ", "
		}
	}
	return fmt.Sprintf("stint %s (%s%s, %s/%s)", numberOf(released, info), commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

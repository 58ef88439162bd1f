package fsm

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/opcodec"
	"github.com/stintdb/stint/engine/scriptcache"
	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
)

var update = flag.Bool("update", false, "write the format versions that are not released into testdata/formats.txt")

// releases are the releases with which the format versions came, or will come.
var releases = map[FormatVersion]string{1: "0.1.0", 2: "0.2.0", 3: "0.3.0", 4: "0.4.0"}

// TestReleasedFormats compares each format version with testdata/formats.txt. Nodes of a released version know nothing
// else: once its section in CHANGELOG.md has a date, additions belong to the next version.
func TestReleasedFormats(t *testing.T) {
	const path = "testdata/formats.txt"
	text, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	changelog, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	listed, now := linesOf(string(text)), formatLines()
	for _, version := range slices.Sorted(maps.Keys(now)) {
		release, isKnown := releases[version]
		if !isKnown {
			t.Fatalf("say in releases which release will have format version %d", version)
		}
		isReleased := version == 1 || strings.Contains(string(changelog), "\n## "+release+" – 2")
		if *update && (!isReleased || listed[version] == nil) {
			listed[version] = now[version]
		}
		var added, gone []string
		for _, line := range now[version] {
			if !slices.Contains(listed[version], line) {
				added = append(added, line)
			}
		}
		for _, line := range listed[version] {
			if !slices.Contains(now[version], line) {
				gone = append(gone, line)
			}
		}
		remedy := "run the test with -update"
		if isReleased {
			remedy = fmt.Sprintf("release %s is out: give what is new a row in Additions (cluster/fsm/formats.go) with version %d; if only words of a syntax have changed, edit the file", release, version+1)
		}
		if len(added)+len(gone) > 0 {
			t.Errorf("format version %d has %q that %s does not list, and lacks %q: %s", version, added, path, gone, remedy)
		}
	}
	if *update {
		var all strings.Builder
		for _, version := range slices.Sorted(maps.Keys(listed)) {
			for _, line := range listed[version] {
				fmt.Fprintln(&all, version, line)
			}
		}
		if err := os.WriteFile(path, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// linesOf are the lines of a text, each without the version that it begins with.
func linesOf(text string) map[FormatVersion][]string {
	all := map[FormatVersion][]string{}
	for line := range strings.Lines(text) {
		var version FormatVersion
		if _, err := fmt.Sscan(line, &version); err == nil {
			_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			all[version] = append(all[version], rest)
		}
	}
	return all
}

// formatLines lists the parts of operations by version: a row of Additions could grow unnoticed, a verb or a command
// cannot.
func formatLines() map[FormatVersion][]string {
	known, all := NewFormats(Additions), map[FormatVersion][]string{}
	add := func(version FormatVersion, format string, args ...any) {
		all[version] = append(all[version], fmt.Sprintf(format, args...))
	}
	of := func(op engine.Op) FormatVersion {
		if a := known.NewestIn([]engine.Op{op}); a != nil {
			return a.Version
		}
		return 1
	}
	for verb := engine.Verb(0); verb == 0 ||
		exists(func() { new(opcodec.Writer).Append(nil, &engine.Op{Verb: verb}) }); verb++ {
		add(of(engine.Op{Verb: verb}), "verb %d", verb)
	}
	for _, a := range limits.Algorithms() {
		add(of(engine.Op{Limit: limits.Limit{Algorithm: a}}), "algorithm %s", a)
	}
	for option := engine.Option(1); option > 0; option <<= 1 {
		op := acquire("k", 10, 1)
		op.Options = option
		var w opcodec.Writer
		if w.Append(nil, &op); w.Err() == nil {
			add(of(op), "option %d of Acquire", option)
		}
	}
	for dialect := int64(1); dialect <= scriptcache.Dialect; dialect++ {
		add(of(engine.Op{Verb: engine.Script, Tokens: dialect}), "dialect %d of scripts", dialect)
	}
	for _, a := range Additions {
		add(a.Version, "addition %s, kind %d", a.Name, a.kind)
	}
	rows := slices.SortedFunc(slices.Values(command.Table), func(a, b command.Row) int {
		return cmp.Compare(a.Name, b.Name)
	})
	for _, row := range rows {
		if row.Data != 0 {
			op := engine.Op{Verb: engine.Command, Args: [][]byte{[]byte(row.Name)}}
			if row.Dialect > 0 && row.Run != nil { // only scripts carry it out in the log
				op = engine.Op{Verb: engine.Script, Tokens: row.Dialect}
			}
			add(of(op), "command %s",
				strings.TrimSpace(row.Name+" "+row.Syntax))
		}
	}
	return all
}

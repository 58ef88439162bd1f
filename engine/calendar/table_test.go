package calendar

import (
	"archive/zip"
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
)

var update = flag.Bool("update", false, "append the zones to zones.txt that Go knows and the table does not, or knows otherwise")

// The table has the changes of the clocks between these times, and the rules behind them.
var (
	tableFrom  = time.Date(2015, 1, 1, 0, 0, 0, 0, time.UTC)
	tableUntil = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
)

// goZone is a zone of Go's database: its rules for package time, and its yearly rule as POSIX has it.
type goZone struct {
	location *time.Location
	posix    string
}

// goZones reads the database that the Go toolchain brings, which does not depend on the machine.
func goZones(t *testing.T) map[string]goZone {
	t.Helper()
	root, err := testserver.Command(t, "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	zones := map[string]goZone{}
	for _, file := range archive.File {
		if strings.HasSuffix(file.Name, "/") || file.Name == "Factory" {
			continue
		}
		opened, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(opened)
		if err != nil {
			t.Fatal(err)
		}
		location, err := time.LoadLocationFromTZData(file.Name, data)
		if err != nil {
			t.Fatal(file.Name, err)
		}
		data = bytes.TrimSuffix(data, []byte("\n"))
		zones[file.Name] = goZone{location, string(data[bytes.LastIndexByte(data, '\n')+1:])}
	}
	return zones
}

// TestTable compares the table with Go's database. A line of the table is never changed, because operations and files
// name it by its number: where the rules of a zone change, it gets another line, whose version is in the next format
// version (decision 0035).
func TestTable(t *testing.T) {
	zones := goZones(t)
	lines := slices.Collect(strings.Lines(zonesText))
	last := map[string]string{}
	for _, line := range lines {
		name, _, _ := strings.Cut(line, " ")
		last[name] = line
	}
	var missing []string
	for _, name := range append([]string{"UTC"}, slices.Sorted(maps.Keys(zones))...) {
		line := zones[name].line(t, name)
		if name == "UTC" && slices.Contains(missing, line) {
			continue
		}
		if last[name] != line {
			missing = append(missing, line)
		}
	}
	if *update {
		if err := os.WriteFile("zones.txt", []byte(zonesText+strings.Join(missing, "")), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if len(missing) > 0 {
		t.Errorf("%d zones of Go's database are not in the table as they are there, first %s\nRead decision 0035, and run this test with -update", len(missing), missing[0])
	}
	if len(lines) < 500 {
		t.Errorf("only %d lines", len(lines))
	}
}

// line is the zone in the table's form.
func (z goZone) line(t *testing.T, name string) string {
	t.Helper()
	periods := periodsOf(z.location, tableFrom, tableUntil)
	first := int(periods[0].offset / time.Second)
	var changes []string
	for _, p := range periods[1:] {
		changes = append(changes, fmt.Sprintf("%d:%d", p.from.Unix(), p.offset/time.Second))
	}
	if !strings.Contains(z.posix, ",") {
		return strings.Join(append([]string{name, fmt.Sprint(first)}, changes...), " ") + "\n"
	}
	text := yearlyText(t, z.posix)
	rule, err := parseYearly(text)
	if err != nil {
		t.Fatal(name, z.posix, err)
	}
	kept := changes // up to the first of those that the rule makes: it begins there
	for len(kept) > 1 && rule.makes(kept[len(kept)-2], kept[len(kept)-1]) {
		kept = kept[:len(kept)-1]
	}
	if len(kept) == len(changes) {
		t.Fatalf("%s: the rule %s, as %s, makes none of %v", name, z.posix, text, changes[len(changes)-3:])
	}
	return strings.Join(append(append([]string{name, fmt.Sprint(first)}, kept...), text), " ") + "\n"
}

// makes reports whether the rule has two changes of the table, and none between them.
func (y *yearly) makes(one, next string) bool {
	var first, second span
	fmt.Sscanf(one, "%d:%d", &first.from, &first.offset)
	fmt.Sscanf(next, "%d:%d", &second.from, &second.offset)
	before := y.at(first.from, span{from: first.from - 1})
	after := y.at(second.from, span{from: first.from})
	return before.from == first.from && before.offset == first.offset && before.until == second.from && after.offset == second.offset
}

// yearlyText is a rule such as CET-1CEST,M3.5.0,M10.5.0/3 in the table's form.
func yearlyText(t *testing.T, posix string) string {
	t.Helper()
	names, begin, end := "", "", ""
	if parts := strings.Split(posix, ","); len(parts) == 3 {
		names, begin, end = parts[0], parts[1], parts[2]
	}
	_, names = posixName(names)
	standard, names := posixTime(names)
	_, names = posixName(names)
	standard, summer := -standard, -standard+3600
	if names != "" {
		summer, _ = posixTime(names)
		summer = -summer
	}
	changes := []string{posixChange(begin, standard, summer), posixChange(end, summer, standard)}
	var months [2]int
	for i := range changes {
		fmt.Sscanf(changes[i], "M%d.", &months[i])
	}
	if months[1] < months[0] {
		slices.Reverse(changes)
	}
	return strings.Join(changes, ",")
}

// posixChange is a change such as M10.5.0/3 in the table's form.
func posixChange(text string, before, after int64) string {
	day, at, hasTime := strings.Cut(text, "/")
	second := int64(2 * 3600)
	if hasTime {
		second, _ = posixTime(at)
	}
	return fmt.Sprintf("%s@%d:%d", day, second-before, after)
}

// posixName cuts off the name of a zone.
func posixName(text string) (name, rest string) {
	if strings.HasPrefix(text, "<") {
		at := strings.IndexByte(text, '>') + 1
		return text[:at], text[at:]
	}
	at := strings.IndexFunc(text, func(c rune) bool { return c < 'A' })
	if at < 0 {
		at = len(text)
	}
	return text[:at], text[at:]
}

// posixTime cuts off a time such as -3:30, in seconds.
func posixTime(text string) (seconds int64, rest string) {
	end := strings.IndexFunc(text, func(c rune) bool { return c > ':' || c == '<' || c == ',' })
	if end < 0 {
		end = len(text)
	}
	sign, unit := int64(1), int64(3600)
	digits := strings.TrimPrefix(text[:end], "+")
	if strings.HasPrefix(digits, "-") {
		sign, digits = -1, digits[1:]
	}
	for _, part := range strings.Split(digits, ":") {
		var n int64
		fmt.Sscan(part, &n)
		seconds, unit = seconds+n*unit, unit/60
	}
	return sign * seconds, text[end:]
}

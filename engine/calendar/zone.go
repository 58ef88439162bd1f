package calendar

import (
	_ "embed" // zones.txt
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Zone is a time zone with its rules, by its number in the table. The numbers are kept on disk and sent between nodes.
// 0 is UTC.
type Zone uint16

// The table has a line for each zone: its name, its first offset from UTC in seconds, and the times at which the offset
// changed, each with the new one after a colon. A zone with two changes each year has their rule at the end, which
// holds after the last change.
//
//go:embed zones.txt
var zonesText string

type row struct {
	name  string
	rules func() *rules
	last  lastWindows
}

// table is read when the first zone is asked for, and the rules of a zone when it is.
var table = sync.OnceValue(func() (t struct {
	rows   []*row
	byName map[string]Zone // also in lower case
}) {
	t.byName = map[string]Zone{}
	for line := range strings.Lines(zonesText) {
		name, rest, _ := strings.Cut(line, " ")
		zone := Zone(len(t.rows))
		t.rows = append(t.rows, &row{name: name, rules: sync.OnceValue(func() *rules {
			r, err := parseRules(strings.Fields(rest))
			if err != nil {
				panic("calendar: zones.txt: " + line + err.Error())
			}
			return r
		})})
		t.byName[name], t.byName[strings.ToLower(name)] = zone, zone
	}
	return t
})

func parseRules(words []string) (*rules, error) {
	r, last, err := &rules{}, span{from: earliest, until: latest}, error(nil)
	if last.offset, err = strconv.ParseInt(words[0], 10, 64); err != nil {
		return nil, err
	}
	for _, word := range words[1:] {
		if word[0] == 'M' {
			if r.yearly, err = parseYearly(word); err != nil {
				return nil, err
			}
			break
		}
		at, offset, _ := strings.Cut(word, ":")
		if last.until, err = strconv.ParseInt(at, 10, 64); err != nil {
			return nil, err
		}
		r.spans = append(r.spans, last)
		last = span{from: last.until, until: latest}
		if last.offset, err = strconv.ParseInt(offset, 10, 64); err != nil {
			return nil, err
		}
	}
	r.spans = append(r.spans, last)
	return r, nil
}

// ParseZone finds a zone of the table by its name, such as Europe/Berlin. Capitals do not matter.
func ParseZone(name []byte) (zone Zone, known bool) {
	if zone, known = table().byName[string(name)]; !known {
		zone, known = table().byName[strings.ToLower(string(name))]
	}
	return zone, known
}

// String is the name of the zone.
func (z Zone) String() string {
	if !z.known() {
		return fmt.Sprintf("zone %d", uint16(z))
	}
	return table().rows[z].name
}

func (z Zone) known() bool { return int(z) < len(table().rows) }

func (z Zone) rules() *rules { return table().rows[z].rules() }

// Valid reports whether the anchor is one of windows of the unit, with a zone that this version knows.
func (a Anchor) Valid(unit Unit) bool { return a.Zone.known() && a.From.valid(unit) }

// Zones lists the names of all zones, in the order of their numbers.
func Zones() (names []string) {
	for _, r := range table().rows {
		names = append(names, r.name)
	}
	return names
}

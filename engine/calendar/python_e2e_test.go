//go:build e2e

package calendar

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testsize"
)

// inPython prints of each zone that it is given the first instant of each month, as Python's zoneinfo knows it: the
// first minute of which the clocks show the first day; and after "changes" each time at which the offset changes, with
// the new one.
const inPython = `
import sys
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo
for name in sys.stdin.read().split():
    zone, begins = ZoneInfo(name), []
    for month in range(2016 * 12, 2036 * 12):
        clock = datetime(month // 12, month % 12 + 1, 1)
        at = clock.replace(tzinfo=timezone.utc) - timedelta(hours=16)
        while at.astimezone(zone).replace(tzinfo=None) < clock:
            at += timedelta(minutes=15)
        begins.append(int(at.timestamp()))
    def offset(second):
        return int(datetime.fromtimestamp(second, zone).utcoffset().total_seconds())
    changes, day = [], 24 * 3600
    for second in range(1451606400, 2082758400, day):
        low, high = second, second + day
        if offset(low) != offset(high):
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset(middle) == offset(low) else (low, middle)
            changes.append(f"{high}:{offset(high)}")
    print(name, *begins, "changes", *changes)
`

// changesOf are the times from 2016 to 2035 at which the offset of a zone changes, with the new ones.
func changesOf(zone Zone) (changes []string) {
	const from, until = 1_451_606_400, 2_082_758_400
	offset := zone.rules().at(from).offset
	for at := zone.rules().at(from).until; at <= until; {
		s := zone.rules().at(at)
		if s.offset != offset {
			changes = append(changes, fmt.Sprintf("%d:%d", at, s.offset))
		}
		at, offset = s.until, s.offset
	}
	return changes
}

// TestZonesInPython compares the changes of clocks, and the months, of zones with Python's: a part of the zones, and
// all at full size. The versions of the databases may differ, but those of the last and next ten years are alike since
// version 2024b.
func TestZonesInPython(t *testing.T) {
	if err := testserver.Command(t, "python3", "-c", "import zoneinfo; zoneinfo.ZoneInfo('Europe/Berlin')").Run(); err != nil {
		t.Skip("needs Python 3.9 or later with a database of time zones (apt install tzdata)")
	}
	names := slices.Sorted(maps.Keys(goZones(t)))
	var asked []string
	for i := 0; i < len(names); i += testsize.Pick(12, 1) {
		asked = append(asked, names[i])
	}
	program := testserver.Command(t, "python3", "-c", inPython)
	program.Stdin = strings.NewReader(strings.Join(asked, "\n"))
	out, err := program.Output()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); compared++ {
		words := strings.Fields(lines.Text())
		zone, known := ParseZone([]byte(words[0]))
		if !known {
			t.Fatal(words[0])
		}
		mark := slices.Index(words, "changes")
		if got := changesOf(zone); !slices.Equal(got, words[mark+1:]) {
			t.Errorf("%s: in Python the clocks change at %s, here at %s", words[0], words[mark+1:], got)
		}
		for _, word := range words[1:mark] {
			var begin int64
			fmt.Sscan(word, &begin)
			begin *= int64(time.Second)
			if start, _ := (Anchor{Zone: zone}).Window(Month, begin); start != begin {
				t.Errorf("%s: in Python a month begins at %s, here at %s", words[0], clock(begin), clock(start))
			}
			if _, end := (Anchor{Zone: zone}).Window(Month, begin-1); end != begin {
				t.Errorf("%s: in Python a month begins at %s, here the one before ends at %s", words[0], clock(begin), clock(end))
			}
		}
	}
	if compared != len(asked) {
		t.Errorf("Python has %d of %d zones", compared, len(asked))
	}
}

package calendar

import (
	"fmt"
	"testing"
)

// Each beginning has one value and one text, which reads back; others are refused.
func TestFromText(t *testing.T) {
	for _, c := range []struct {
		unit       Unit
		text, want string // "" for an error
		hasTime    bool
	}{
		{Day, "0", "0", false}, {Day, "13", "13", false}, {Day, "13:00", "13", false}, {Day, "13:40", "13:40", true}, {Day, "3:05", "03:05", true}, {Day, "00:30", "00:30", true},
		{Day, "24:00", "", false}, {Day, "13:60", "", false}, {Day, "13:4", "", false}, {Day, "13:400", "", false}, {Day, ":30", "", false}, {Day, "13:40:00", "", false}, {Day, "-1:00", "", false}, {Day, "13:+4", "", false},
		{Week, "Tuesday", "tuesday", false}, {Week, "tuesdayT06:00", "tuesdayT06:00", true}, {Week, "mondayt00:00", "monday", false}, {Week, "mondayT00:01", "mondayT00:01", true}, {Week, "saturdayT23:59", "saturdayT23:59", true},
		{Week, "T06:00", "", false}, {Week, "monday06:00", "", false}, {Week, "mondayT24:00", "", false},
		{Month, "17T06:00", "17T06:00", true}, {Month, "1", "1", false}, {Month, "01T00:00", "1", false}, {Month, "1T06:00", "1T06:00", true}, {Month, "31T23:59", "31T23:59", true},
		{Month, "32T06:00", "", false}, {Month, "0T06:00", "", false}, {Month, "17T", "", false}, {Month, "17T6", "", false}, {Month, "17 06:00", "", false},
		{Quarter, "02-17", "02-17", false}, {Quarter, "02-17T06:00", "", false}, {Year, "04-06T06:00", "", false},
	} {
		from, err := ParseFrom(c.unit, c.text)
		if (err != nil) != (c.want == "") {
			t.Errorf("unit %d from %s: %v", c.unit, c.text, err)
		}
		if err != nil {
			continue
		}
		again, err := ParseFrom(c.unit, from.Text(c.unit))
		if from.Text(c.unit) != c.want || again != from || err != nil || !from.valid(c.unit) || from.HasTime(c.unit) != c.hasTime {
			t.Errorf("unit %d from %s: %d is written %s, read as %d (%v)", c.unit, c.text, from, from.Text(c.unit), again, err)
		}
	}
	for unit := Day; unit <= Year; unit++ { // no two values have one text, and those that are valid read back
		seen := map[string]bool{}
		for n := range 1 << 16 {
			from := From(n)
			if !from.valid(unit) {
				continue
			}
			text := fmt.Sprint(from.Text(unit))
			if read, err := ParseFrom(unit, text); read != from || err != nil || seen[text] {
				t.Fatalf("unit %d: %d is written %s, read as %d (%v), seen %v", unit, from, text, read, err, seen[text])
			}
			seen[text] = true
		}
		if want := map[Unit]int{Day: 24 * 60, Week: 7 * 24 * 60, Month: 31 * 24 * 60}[unit]; want != 0 && len(seen) != want {
			t.Errorf("unit %d has %d beginnings, want %d", unit, len(seen), want)
		}
	}
}

package replay

import (
	"fmt"
	"testing"
)

// Who got what over time: the rows of the busiest keys and the row of all others add up to the log.
func TestOverTime(t *testing.T) {
	var lines []string
	for second := range 100 {
		for range 5 {
			lines = append(lines, fmt.Sprintf("first / %d", second))
		}
		if second >= 40 { // comes later, when others are followed
			for range 7 {
				lines = append(lines, fmt.Sprintf("late / %d", second))
			}
		}
		for n := range 3 {
			lines = append(lines, fmt.Sprintf("k%d / %d", (second*3+n)%60, second))
		}
	}
	o, err := replayed(t, Plan{}, jsonLog(lines...), "TB {} 3 2/s", "TB {} 1000 1/s")
	if err != nil {
		t.Fatal(err)
	}
	rows := o.Limits[0].OverTime
	if len(rows) != shownBusy+1 || rows[0].Key != "first" || rows[1].Key != "late" || rows[len(rows)-1].Key != "" {
		t.Fatalf("%d rows: %+v", len(rows), rows)
	}
	var granted, denied int64
	for i := range o.PerInterval {
		var all, refused int64
		for _, row := range rows {
			all, refused = all+row.Granted[i]+row.Denied[i], refused+row.Denied[i]
		}
		if all != o.PerInterval[i] || refused != o.Limits[0].PerInterval[i] {
			t.Fatalf("interval %d: %d requests and %d denials, want %d and %d", i, all, refused, o.PerInterval[i], o.Limits[0].PerInterval[i])
		}
		granted, denied = granted+rows[0].Granted[i], denied+rows[0].Denied[i]
	}
	if granted+denied != 500 || denied != o.Limits[0].MostDenied[1].Denied || granted != 3+2*99 {
		t.Errorf("first: %d granted, %d denied", granted, denied)
	}
	if second := o.Limits[1].OverTime[0]; sum(second.Granted) != 500 || sum(second.Denied) != 0 {
		t.Errorf("of the second limits: %+v", second)
	}
	if all := sum(rows[1].Granted) + sum(rows[1].Denied); all < 60*7-40 || rows[1].Granted[39] != 0 {
		t.Errorf("late: %d of %d requests followed", all, 60*7)
	}
}

func sum(counts []int64) (all int64) {
	for _, n := range counts {
		all += n
	}
	return all
}

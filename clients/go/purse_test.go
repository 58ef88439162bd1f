package stint

import "testing"

// A process is stopped before each reading of its clocks in turn: no moment is younger than it is.
func TestPauseBetweenReadings(t *testing.T) {
	for at := range 5 {
		for _, dayFirst := range []bool{true, false} {
			clock, readings := int64(1000), 0
			read := func() int64 {
				clock++
				if readings++; readings == at {
					clock += int64(118e9)
				}
				return clock
			}
			both := func() (m moment) {
				if dayFirst { // as time.Now does
					m.day = read()
				}
				m.monotonic = read()
				if !dayFirst {
					m.day = read()
				}
				return m
			}
			sent := both()
			sentAt := clock
			clock += int64(1e9)
			if since := int64(both().since(sent)); since < clock-sentAt-1 {
				t.Errorf("stopped before reading %d: %d ns, in %d", at, since, clock-sentAt)
			}
		}
	}
}

package clockpair

import "testing"

// machine has two clocks, both of which go on by a pause at one of the readings.
type machine struct {
	now, apart int64
	readings   int
	pauseAt    int // the reading before which the pause comes, counted from 1
	pause      int64
}

func (m *machine) read(apart int64) int64 {
	if m.readings++; m.readings == m.pauseAt {
		m.now += m.pause
	}
	m.now += 50 // a reading takes some time
	return m.now + apart
}

func (m *machine) outer() int64 { return m.read(0) }
func (m *machine) inner() int64 { return m.read(m.apart) }

// A pause before any of the readings makes no difference, and a clock that was set does.
func TestPause(t *testing.T) {
	const second, tolerance = int64(1e9), int64(200)
	for pauseAt := range 5 {
		for _, step := range []int64{0, 3 * second, -3 * second} {
			for _, pause := range []int64{0, second / 10, 100 * second} {
				m := &machine{apart: 7 * second, pauseAt: pauseAt, pause: pause}
				known := 7 * second
				m.apart += step
				got := Read(m.outer, m.inner).Ahead(known)
				// Where a pause and a step come together, less than the step may be seen, until the next reading.
				if least, most := min(known, m.apart)-tolerance, max(known, m.apart)+tolerance; got < least || got > most {
					t.Errorf("pause of %d before reading %d, a step of %d: ahead by %d, wanted %d to %d", pause, pauseAt, step, got, least, most)
				}
				if got = Read(m.outer, m.inner).Ahead(got); got < m.apart-tolerance || got > m.apart+tolerance {
					t.Errorf("pause of %d before reading %d, a step of %d: later ahead by %d, wanted %d", pause, pauseAt, step, got, m.apart)
				}
			}
		}
	}
}

// Where nothing is known, a pause is read over, and never makes the clock seem further ahead.
func TestFirstAhead(t *testing.T) {
	for pauseAt := range 5 {
		m := &machine{apart: 5e9, pauseAt: pauseAt, pause: 60e9}
		if got := FirstAhead(m.outer, m.inner); got < m.apart-200 || got > m.apart {
			t.Errorf("a pause before reading %d: ahead by %d, wanted %d", pauseAt, got, m.apart)
		}
	}
	var now int64
	slow := func() int64 { now += 1e9; return now } // each reading takes a second
	if got := FirstAhead(slow, slow); got != -1e9 {
		t.Errorf("ahead by %d, wanted the least", got)
	}
}

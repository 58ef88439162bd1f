package replay

// series counts over time in at most seriesSlots intervals of equal length. When the log is longer, intervals are
// joined in pairs.
type series struct {
	width  uint32 // seconds; 0 until the first
	counts [seriesSlots]int64
}

const seriesSlots = 240

// add counts one event at a number of seconds since the start.
func (s *series) add(at uint32) {
	if s.width == 0 {
		s.width = 1
	}
	s.fit(at)
	s.counts[at/s.width]++
}

// fit joins intervals until at lies within the last one.
func (s *series) fit(at uint32) {
	if s.width == 0 {
		s.width = 1
	}
	for at/s.width >= seriesSlots {
		for i := range seriesSlots / 2 {
			s.counts[i] = s.counts[2*i] + s.counts[2*i+1]
		}
		clear(s.counts[seriesSlots/2:])
		s.width *= 2
	}
}

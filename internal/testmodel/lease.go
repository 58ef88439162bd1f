package testmodel

import "slices"

// lease is a holder's place until a time.
type lease struct {
	holder string
	end    int64
}

// leases is the state of a concurrency limit, in the order in which the holders came.
type leases struct {
	limit limit
	all   []lease
}

func (s *leases) at(now int64) *leases {
	return &leases{s.limit, slices.DeleteFunc(slices.Clone(s.all), func(l lease) bool { return l.end <= now })}
}

func (s *leases) live(now int64) bool { return len(s.at(now).all) > 0 }

func (s *leases) reset(now int64) (reset int64) {
	for _, l := range s.all {
		reset = max(reset, l.end-now)
	}
	return reset
}

func (s *leases) look(now int64) (l limit, remaining, reset int64) {
	n := s.at(now)
	return s.limit, s.limit.most - int64(len(n.all)), n.reset(now)
}

func (s *leases) refund(int64, int64) state { return s }

func (s *leases) boundaries() (times []int64) {
	for _, l := range s.all {
		times = append(times, l.end)
	}
	return times
}

func decideLease(held state, r *request, now int64, a answer) (answer, state, error) {
	s, ok := held.(*leases)
	if !ok {
		s = &leases{}
	}
	s = s.at(now)
	s.limit = r.limit
	i := slices.IndexFunc(s.all, func(l lease) bool { return l.holder == r.holder })
	free := r.limit.most - int64(len(s.all))
	switch {
	case i >= 0:
		s.all[i].end = now + r.limit.length
	case free > 0:
		s.all = append(s.all, lease{r.holder, now + r.limit.length})
	default:
		var ends []int64
		for _, l := range s.all {
			ends = append(ends, l.end)
		}
		slices.Sort(ends)
		a.wait, a.reset = ends[len(ends)-int(r.limit.most)]-now, s.reset(now)
		return a, nil, nil
	}
	a.granted, a.tokens, a.reset = true, 1, s.reset(now)
	a.remaining = max(0, r.limit.most-int64(len(s.all)))
	return a, s, nil
}

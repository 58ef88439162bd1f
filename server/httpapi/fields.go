package httpapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/stintdb/stint/server/ratefields"
)

// setFields sets Retry-After of a denial, and the fields about limits. The tightest comes first: the one that denied
// or, if none did, the one with the smallest part of it left. Of a denial, the time until there is more and Retry-After
// are both the time until the request would be granted, so neither is earlier than the other; of all else, the time
// until there is more is not known.
func (s *Service) setFields(h http.Header, name string, d *decision) {
	if len(d.Limits) == 0 {
		return
	}
	first := d.tightest()
	limits := append(make([]ratefields.Limit, 0, 4), d.field(name, first))
	switch {
	case d.Allowed:
	case d.WaitMs < 0:
		limits[0].Reset = ratefields.Unknown
	default:
		limits[0].More = max(1, ratefields.Seconds(d.WaitMs))
		h["Retry-After"] = []string{strconv.FormatInt(limits[0].More, 10)}
	}
	for i := range d.Limits {
		if i != first {
			limits = append(limits, d.field(name, i))
		}
	}
	s.styles.Write(limits, time.Now(), func(field, value string) { h[s.canonical[field]] = []string{value} })
}

// field is a limit as fields show it.
func (d *decision) field(policy string, i int) ratefields.Limit {
	l := &d.Limits[i]
	return ratefields.Limit{
		Name: d.nameOf(policy, i), Quota: l.Limit, Remaining: l.Remaining, Window: ratefields.Unknown, More: ratefields.Unknown, Reset: ratefields.Seconds(l.ResetMs),
		Warns: l.Warn != nil && *l.Warn, Leases: d.leases.has(i),
	}
}

// nameOf is the name of a limit: the name of the policy, as [nameInField] writes it, with its position there if it has
// several.
func (d *decision) nameOf(policy string, i int) string {
	if policy != "" {
		policy = nameInField(policy)
	} else {
		policy = nameOfLimits
	}
	if len(d.Limits) <= 1 {
		return policy
	}
	return policy + ":" + strconv.Itoa(i)
}

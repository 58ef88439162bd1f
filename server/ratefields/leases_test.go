package ratefields

import (
	"testing"
	"time"
)

// A limit on requests under way says so in its quota unit.
func TestLeases(t *testing.T) {
	got := map[string]string{}
	Draft10.Write([]Limit{{Name: "jobs", Quota: 5, Remaining: 4, Window: Unknown, More: Unknown, Leases: true}, {Name: "api", Quota: 9, Remaining: 8, Window: 60, More: Unknown}}, time.Time{},
		func(field, value string) { got[field] = value })
	if got["RateLimit-Policy"] != `"jobs";q=5;qu="concurrent-requests", "api";q=9;w=60` || got["RateLimit"] != `"jobs";r=4, "api";r=8` {
		t.Errorf("%q", got)
	}
}

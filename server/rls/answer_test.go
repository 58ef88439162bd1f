package rls

import "testing"

// A denied request waits for each limit that denied it. Limits in quota_mode deny together, so it waits for the first
// of them.
func TestWaitIsThatOfTheLimitsThatDenied(t *testing.T) {
	const quota, room = true, int64(-1)
	type one struct {
		quota bool
		wait  int64 // seconds; 0 if unknown, room if the limit grants
	}
	for name, tc := range map[string]struct {
		limits []one
		denied bool
		want   int64
	}{
		"no limit":                            {},
		"room":                                {[]one{{false, room}}, false, 0},
		"two limits":                          {[]one{{false, 3}, {false, 7}}, true, 7},
		"one of them never":                   {[]one{{false, 3}, {false, 0}}, true, 0},
		"a quota is left":                     {[]one{{quota, 9}, {quota, room}}, false, 0},
		"all quotas are used up":              {[]one{{quota, 9}, {quota, 4}}, true, 4},
		"one quota never returns":             {[]one{{quota, 0}, {quota, 4}}, true, 4},
		"no quota returns":                    {[]one{{quota, 0}, {quota, 0}}, true, 0},
		"a limit, and a quota is left":        {[]one{{quota, 9}, {quota, room}, {false, 3}}, true, 3},
		"a limit, and all quotas are used up": {[]one{{quota, 9}, {quota, 5}, {false, 3}}, true, 5},
		"a limit that is later than quotas":   {[]one{{quota, 9}, {quota, 5}, {false, 8}}, true, 8},
		"a limit never, and quotas":           {[]one{{quota, 9}, {false, 0}}, true, 0},
	} {
		p, a := new(Plan), &Answer{Nearest: -1}
		for _, l := range tc.limits {
			p.matches = append(p.matches, match{rule: &Rule{Quota: l.quota}})
			a.Statuses = append(a.Statuses, Status{OverLimit: l.wait != room, Limit: new(Limit), Wait: max(l.wait, 0)})
		}
		if p.sum(a); a.OverLimit != tc.denied || a.Wait != tc.want {
			t.Errorf("%s: denied %t, wait %d, want %t, %d", name, a.OverLimit, a.Wait, tc.denied, tc.want)
		}
	}
}

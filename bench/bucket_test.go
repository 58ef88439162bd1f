package main

import "testing"

func TestBucketTargets(t *testing.T) {
	sample := func(requests, granted int, operations float64) bucketSample {
		return bucketSample{steadyLoad{Requests: requests, Granted: granted, Seconds: 2}, operations}
	}
	r := &Report{Bucket: &BucketReport{Samples: map[bucketCell][]bucketSample{
		{"stint-ahead", 6_000}:  {sample(12_000, 12_000, 60)},
		{"stint-ahead", 30_000}: {sample(60_000, 29_700, 5_940)}, // an ideal bucket grants 30,000
		{"stint", 30_000}:       {sample(60_000, 30_000, 0)},
	}}}
	wantVerdicts(t, r, map[string]string{
		"operations in the log, one bucket of 10000/s, 6000/s asked":  "5.00 pass",
		"operations in the log, one bucket of 10000/s, 30000/s asked": "200 FAIL",
		"admitted, of the grants of one Stint, 30000/s asked":         "99.0 FAIL",
	})
	if under := sample(12_000, 12_000, 0).admitted(); under != 1 {
		t.Errorf("%v of the requests under the limit", under)
	}
}

func TestMarketTargets(t *testing.T) {
	r := &Report{Market: &MarketReport{Peak: 28_500, Samples: map[marketCell][]marketSample{
		{"stint-ahead", true}: {{steadyLoad{Granted: 98}, 100}},
	}}}
	wantVerdicts(t, r, map[string]string{"a market opens, admitted of allowed": "98.0 pass"})
}

// wantVerdicts checks all targets that a report has.
func wantVerdicts(t *testing.T, r *Report, want map[string]string) {
	t.Helper()
	got := verdicts(r)
	for name := range want {
		if got[name] != want[name] {
			t.Errorf("%s: %q, want %q", name, got[name], want[name])
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d targets, want %d", len(got), len(want))
	}
	if markdown(r) == "" {
		t.Error("no text")
	}
}

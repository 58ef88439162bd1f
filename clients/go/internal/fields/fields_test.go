package fields

import (
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

// The server and the other clients play the same vectors.
func TestWriting(t *testing.T) {
	text, err := os.ReadFile("../../../vectors/fields.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Name, Styles string
			Now          int64 `json:"now_ms"`
			Limit        struct {
				Name             string
				Quota, Remaining int64
				Window           time.Duration `json:"window_ms"`
				More             time.Duration `json:"more_ms"`
				Reset            time.Duration `json:"reset_ms"`
				Warns            bool
			}
			Fields map[string]string
		}
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Cases) == 0 {
		t.Fatal(err)
	}
	styles := map[string]Styles{"draft-10": Draft, "draft-11": Draft, "draft-6": Draft6, "x-ratelimit": XRateLimit, "x-ratelimit-date": XRateLimitDate}
	for _, c := range file.Cases {
		all := Styles(0)
		for name := range strings.SplitSeq(c.Styles, ",") {
			all |= styles[name]
		}
		l := State{c.Limit.Name, c.Limit.Quota, c.Limit.Remaining, c.Limit.Window * time.Millisecond, c.Limit.More * time.Millisecond, c.Limit.Reset * time.Millisecond, c.Limit.Warns}
		got, want := http.Header{}, http.Header{}
		all.Write(got, &l, time.UnixMilli(c.Now))
		for name, value := range c.Fields {
			want.Set(name, value)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", c.Name, got, want)
		}
	}
}

func TestReading(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		header http.Header
		retry  time.Duration // -1: absent
		out    time.Duration
	}{
		{http.Header{}, -1, -1},
		{http.Header{"Retry-After": {"120"}}, 2 * time.Minute, -1},
		{http.Header{"Retry-After": {"Fri, 02 Jan 2026 03:05:05 GMT"}}, time.Minute, -1},
		{http.Header{"Retry-After": {"Fri, 02 Jan 2026 03:00:00 GMT"}}, 0, -1},
		{http.Header{"Retry-After": {"soon"}}, -1, -1},
		{http.Header{"Retry-After": {"-1"}}, -1, -1},
		{http.Header{"Retry-After": {"99999999999999999999"}}, -1, -1},
		{http.Header{"Ratelimit": {`"default";r=50;t=30`}}, -1, -1},
		{http.Header{"Ratelimit": {`"default";r=0;t=30`}}, -1, 30 * time.Second},
		{http.Header{"Ratelimit": {`"default";r=0;t=30;stint-warn, "other";r=5;stint-warn`}}, -1, 30 * time.Second},
		{http.Header{"Ratelimit": {`"a,b;r=5";r=0;t=30, "day";r=0;t=900;pk=:cGs=:`, `x;r=3;t=99999`}}, -1, 15 * time.Minute},
		{http.Header{"Ratelimit": {`"a";r=0`}}, -1, -1},
		{http.Header{"Ratelimit": {`"a";r=0;t=-5`}}, -1, -1},
		{http.Header{"Ratelimit": {`"a";r=0;t=1`}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"60"}}, -1, time.Second},
		{http.Header{"Ratelimit": {`"a";r=0`}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"60"}}, -1, -1},
		{http.Header{"Ratelimit": {`"`}}, -1, -1},
		{http.Header{"Ratelimit-Remaining": {"0"}, "Ratelimit-Reset": {"7"}}, -1, 7 * time.Second},
		{http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"7"}}, -1, 7 * time.Second},
		{http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"1767323055"}}, -1, 10 * time.Second},
		{http.Header{"X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Reset": {"7"}}, -1, -1},
		{http.Header{"X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"later"}}, -1, -1},
	} {
		if got, ok := RetryAfter(c.header, now); ok != (c.retry >= 0) || ok && got != c.retry {
			t.Errorf("%v: retry after %v, %v; want %v", c.header, got, ok, c.retry)
		}
		if got, ok := Exhausted(Limits(c.header, now)); ok != (c.out >= 0) || ok && got != c.out {
			t.Errorf("%v: exhausted for %v, %v; want %v", c.header, got, ok, c.out)
		}
	}
}

// TestLimits plays the vectors of all clients.
func TestLimits(t *testing.T) {
	text, err := os.ReadFile("../../../vectors/provider.json")
	if err != nil {
		t.Fatal(err)
	}
	type limit struct {
		Unit      string
		Remaining int64
		Limit     *int64
		Reset     *int64 `json:"reset_ms"`
	}
	var file struct {
		Now   int64 `json:"now_ms"`
		Cases []struct {
			Name    string
			Status  int
			Headers map[string]string
			Limits  []limit
			Pause   int64 `json:"pause_ms"`
		}
	}
	if err := json.Unmarshal(text, &file); err != nil || len(file.Cases) == 0 {
		t.Fatal(err)
	}
	for _, c := range file.Cases {
		h := http.Header{}
		for name, value := range c.Headers {
			h.Set(name, value)
		}
		all := Limits(h, time.UnixMilli(file.Now))
		var want []Limit
		for _, l := range c.Limits {
			w := Limit{l.Unit, l.Remaining, -1, Unknown}
			if l.Limit != nil {
				w.Quota = *l.Limit
			}
			if l.Reset != nil {
				w.Reset = time.Duration(*l.Reset) * time.Millisecond
			}
			want = append(want, w)
		}
		if !reflect.DeepEqual(all, want) {
			t.Errorf("%s: %+v, want %+v", c.Name, all, want)
		}
		pause, _ := Exhausted(all)
		if after, ok := RetryAfter(h, time.UnixMilli(file.Now)); ok && c.Status >= 400 {
			pause = max(pause, after)
		}
		if pause != time.Duration(c.Pause)*time.Millisecond {
			t.Errorf("%s: pause %v, want %d ms", c.Name, pause, c.Pause)
		}
	}
}

func FuzzReading(f *testing.F) {
	f.Add(`"a";r=0;t=30`, "7")
	f.Fuzz(func(t *testing.T, limit, reset string) {
		h := http.Header{"Ratelimit": {limit}, "Retry-After": {reset}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {reset}}
		if d, ok := Exhausted(Limits(h, time.Unix(0, 0))); ok && d < 0 {
			t.Errorf("%v", d)
		}
		if d, ok := RetryAfter(h, time.Unix(0, 0)); ok && d < 0 {
			t.Errorf("%v", d)
		}
	})
}

package admin

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server/topkeys"
)

// minutesOf returns a limit's denials in one minute.
func minutesOf(limit string, start, denied int64) map[string][]topkeys.Entry {
	return map[string][]topkeys.Entry{limit: {{Minutes: []topkeys.Minute{{Start: start, Denied: denied}}}}}
}

// A limit begins to deny with its first denial after a pause, and its denials are in the spans in which they came.
func TestCourse(t *testing.T) {
	all := denialHistories{}
	second := int64(time.Second)
	base := 1000 * denialSpan
	seen := func(at int64) (b clusterstatus.Bite) {
		all["p"].describe(base+at*second, &b)
		return b
	}
	for _, step := range []struct {
		at, denied, since int64 // seconds; denied in its minute so far
		ends              []int64
		perSecond         float64
	}{
		{5, 30, 5, []int64{0, 30}, 2},
		{15, 40, 5, []int64{30, 10}, 40.0 / 15},
		{15, 35, 5, []int64{30, 10}, 40.0 / 15}, // a key has left the list
		{40, 35, 5, []int64{0, 0}, 0},           // it lasts, with pauses
		{59, 36, 5, []int64{0, 1}, 1.0 / 19},
		{180, 7, 180, []int64{0, 7}, 7.0 / 10}, // after a pause
	} {
		all.add(base+step.at*second, minutesOf("p", base+step.at/60*60*second, step.denied))
		b := seen(step.at)
		if b.Since != (base+step.since*second)/int64(time.Millisecond) || !slices.Equal(b.Recent[denialSpans-2:], step.ends) || b.PerSecond != step.perSecond {
			t.Errorf("at %d s: since %d, %v, %v a second", step.at, b.Since*int64(time.Millisecond)/second-base/second, b.Recent, b.PerSecond)
		}
	}
	if b := seen(181 + 300); slices.Max(b.Recent) != 0 {
		t.Errorf("denials of more than five minutes ago: %v", b.Recent)
	}
	all.add(base+1000*second, nil)
	if len(all) != 0 {
		t.Error("a limit that denies no more is kept")
	}
}

// The memory for limits that deny is limited, no matter how many there are.
func TestCoursesAreBounded(t *testing.T) {
	all := denialHistories{}
	for i := range 10 * denialHistoriesKept {
		all.add(int64(i+1)*denialSpan, minutesOf(fmt.Sprint(i), 0, 1))
	}
	if len(all) > denialHistoriesKept {
		t.Errorf("%d limits are kept", len(all))
	}
	many := map[string][]topkeys.Entry{}
	for i := range 10 * denialHistoriesKept {
		many[fmt.Sprint("at once ", i)] = []topkeys.Entry{{Minutes: []topkeys.Minute{{Denied: 1}}}}
	}
	if all.add(int64(time.Hour), many); len(all) != denialHistoriesKept {
		t.Errorf("%d limits are kept", len(all))
	}
}

// A click on a limit lists its keys.
func TestKeysOfALimit(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	h.do(h.dial(), "RL.POLICY SET api TB user:{} 1 1/h TB all 2 1/h", "RL.CHECK api a", "RL.CHECK api a", "RL.CHECK api b", "RL.CHECK api c")
	h.eventually("the limits that deny are known", func() bool {
		_, body := h.get("/api/limit?limit=api:+TB+all+2+1/1h")
		return strings.Contains(body, `"key":"all","count":1`) && !strings.Contains(body, "user:")
	})
	if _, body := h.get("/api/limit?limit=api:+TB+user:{}+1+1/1h"); !strings.Contains(body, `"key":"user:a","count":1`) || strings.Contains(body, "user:b") {
		t.Error(body)
	}
	if _, body := h.get("/api/limit?limit=other"); !strings.Contains(body, `"entries":[]`) {
		t.Error(body)
	}
	if _, body := h.get("/api/overview"); !strings.Contains(body, `"since":1`) || !strings.Contains(body, `"recent":[0,`) {
		t.Error(body)
	}
}

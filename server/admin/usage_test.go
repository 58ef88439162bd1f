package admin

import (
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
)

// The page shows the windows that a limit keeps, the open one first.
func TestWindowsOfAKey(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	c := h.dial()
	h.do(c, "FW.ACQUIRE spend 100 1h 30 HISTORY 3", "FW.ACQUIRE spend 100 1h 12 HISTORY 3 AS call:1 FOR 1h", "FW.ACQUIRE plain 100 1h 30")
	if _, body := h.get("/api/key?key=spend"); !strings.Contains(body, `"windows":[{"startMs":`) || !strings.Contains(body, `"used":30,"reserved":12}]`) {
		t.Error(body)
	}
	if _, body := h.get("/api/key?key=plain"); strings.Contains(body, "windows") {
		t.Error(body)
	}
	got := windowViews(engine.Window{Start: 7e6, End: 8e6, Used: 5, Reserved: 1}, []engine.Window{{Start: 3e6, End: 4e6, Used: 2}})
	if want := []windowView{{StartMs: 7, Used: 4, Reserved: 1}, {StartMs: 3, Used: 2}}; !slices.Equal(got, want) {
		t.Error(got)
	}
}

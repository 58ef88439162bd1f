package server

import (
	"bytes"
	"testing"
)

// Nothing is allocated for a request on an existing key, between the bytes of a pipeline and the bytes of its replies.
func TestNoAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, pipeline := range [][]string{
		{"CL.THROTTLE k 15 30 60"},
		{"CL.THROTTLE k 15 30 60 0"},
		{"TB.ACQUIRE k 10 100/s"},
		{"TB.ACQUIRE k 10 1/h 3"},
		{"TB.ACQUIRE k 10 1000/60", "TB.ACQUIRE j 10 5/500ms 2"},
		{"PING"},
		{"TTL k"},
	} {
		h := newHost(t, nil)
		s := h.newSession("client", "server", func() {})
		ws, cfg := h.borrow(), h.Config()
		in := bytes.Repeat(frames(pipeline...), 64)
		feed := func() {
			ws.out.Buf = ws.out.Buf[:0]
			s.feed(in, ws, cfg)
		}
		feed()
		if replies := bytes.Count(ws.out.Buf, []byte("\r\n")); replies < 64*len(pipeline) {
			t.Fatalf("%v: only %d lines of replies", pipeline, replies)
		}
		if n := testing.AllocsPerRun(200, feed); n != 0 {
			t.Errorf("%v: %v allocations for %d requests", pipeline, n, 64*len(pipeline))
		}
	}
}

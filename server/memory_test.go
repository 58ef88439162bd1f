package server

import (
	"fmt"
	"strings"
	"testing"
)

// What INFO and MEMORY STATS say of memory adds up, grows with keys, and the peak stays when the keys have gone.
func TestMemoryAddsUp(t *testing.T) {
	p := newSessionPlayer(t, 0)
	before := p.memory.Memory()
	for i := range 20_000 {
		p.do(t, "a", fmt.Sprintf("TB.ACQUIRE key:%d 1 1/365d", i))
	}
	full := p.memory.Memory()
	p.do(t, "a", "FLUSHALL")
	after := p.memory.Memory()
	if full.Keys < before.Keys+20_000*16 || after.Keys >= full.Keys {
		t.Errorf("keys took %d bytes, then %d, then %d", before.Keys, full.Keys, after.Keys)
	}
	if full.Peak < full.Used() || after.Peak < full.Peak || before.Startup > before.Peak {
		t.Errorf("started with %d, used %d, peak %d, later %d", before.Startup, full.Used(), full.Peak, after.Peak)
	}
	of := map[string]int64{}
	for line := range strings.Lines(p.Info([]string{"memory"})) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		var n int64
		if _, err := fmt.Sscan(value, &n); err == nil {
			of[name] = n
		}
	}
	if of["used_memory"] != of["used_memory_overhead"]+of["used_memory_dataset"] || of["used_memory_peak"] < of["used_memory"] || of["used_memory"] == 0 {
		t.Errorf("%v", of)
	}
}

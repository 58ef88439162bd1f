package conn

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock"
)

// benchmarked are commands, with id for one of 100,000 callers and 15 for a limit that a caller soon reaches.
var benchmarked = []struct{ name, command string }{
	{"PING", "PING"},
	{"CL.THROTTLE", "CL.THROTTLE key:id 15 30 60"},
	{"TB.ACQUIRE", "TB.ACQUIRE key:id 15 30/60"},
	{"LB.ACQUIRE", "LB.ACQUIRE key:id 15 30/60"},
	{"LB.QUEUE", "LB.QUEUE key:id 15 30/60"},
	{"FW.ACQUIRE", "FW.ACQUIRE key:id 15 60s"},
	{"FW.ACQUIRE @month", "FW.ACQUIRE key:id 15 @month"},
	{"FW.ACQUIRE WARN", "FW.ACQUIRE key:id 15 @month WARN 80%"},
	{"FW.ACQUIRE @month TZ", "FW.ACQUIRE key:id 15 @month TZ Europe/Berlin FROM 17"},
	{"SW.ACQUIRE", "SW.ACQUIRE key:id 15 60s"},
	{"SL.ACQUIRE", "SL.ACQUIRE key:id 15 60s"},
	{"CC.ACQUIRE", "CC.ACQUIRE key:id 15 60s worker-1"},
	{"RL.ALL", "RL.ALL TB key:id 15 30/60 TB two:id 15 30/60 TB all:id 15 30/60"},
	{"RL.CHECK", "RL.CHECK api id"},
	{"RL.ALL, two shared", "RL.ALL TB key:id 15 30/60 TB tenant 1000000000 1000000000 TB all 1000000000 1000000000"},
	{"RL.CHECK, two shared", "RL.CHECK shared id"},
	{"RL.ALL AS, RL.SETTLE", "RL.ALL TB key:id 15 30/60 AS request:id FOR 10ms\nRL.SETTLE request:id 1"},
	{"RL.CHECK, month", "RL.CHECK month id"},
	{"RL.CHECK, month TZ", "RL.CHECK zone id"},
}

// BenchmarkSession measures the cost of a command between the socket's bytes: parse, decide, answer. Most requests are
// denied in "denied", as each caller asks far more often than its limit allows; in "granted" the limits are too large
// to be reached.
func BenchmarkSession(b *testing.B) {
	for _, mode := range []struct{ name, limit string }{{"denied", "15"}, {"granted", "10000"}} {
		for _, c := range benchmarked {
			b.Run(mode.name+"/"+c.name, func(b *testing.B) {
				benchmarkSession(b, strings.ReplaceAll(c.command, "15", mode.limit), mode.limit)
			})
		}
	}
}

func benchmarkSession(b *testing.B, command, limit string) {
	keys, clock := store.New(store.Config{}), clock.New(0)
	defer keys.Close()
	h := newEnv(b, keys, clock)
	s := h.NewSession("test", "test", func() {})
	batch, cfg := h.getBatch(), h.config()
	s.receive(frames(strings.ReplaceAll("RL.POLICY SET api TB key:{} 15 30/60 TB two:{} 15 30/60 TB all:{} 15 30/60", "15", limit)), batch, cfg)
	s.receive(frames(strings.ReplaceAll("RL.POLICY SET shared TB key:{} 15 30/60 TB tenant 1000000000 1000000000 TB all 1000000000 1000000000", "15", limit)), batch, cfg)
	s.receive(frames(strings.ReplaceAll("RL.POLICY SET month FW key:{} 15 @month", "15", limit)), batch, cfg)
	s.receive(frames(strings.ReplaceAll("RL.POLICY SET zone FW key:{} 15 @month TZ Europe/Berlin FROM 17", "15", limit)), batch, cfg)
	const pipeline = 16
	var inputs [][]byte
	for i := range 8000 {
		var in []byte
		for j := range pipeline {
			command := strings.ReplaceAll(command, "id", fmt.Sprintf("%012d", (i*pipeline+j)*7919%100_000))
			in = append(in, frames(strings.Split(command, "\n")...)...)
		}
		inputs = append(inputs, in)
	}
	round := func(in []byte) {
		batch.out.Buf = batch.out.Buf[:0]
		s.receive(in, batch, cfg)
	}
	for _, in := range inputs { // the keys are there
		round(in)
	}
	if strings.Contains(string(batch.out.Buf), "ERR ") {
		b.Fatalf("%.200q", batch.out.Buf)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for i := 0; i < b.N; i += pipeline {
		round(inputs[i/pipeline%len(inputs)])
	}
}

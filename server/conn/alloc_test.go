//go:build !race

// The race detector makes sync.Pool forget at random, so runs with it allocate.

package conn

import (
	"bytes"
	"testing"
	"time"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock/clocktest"
)

// Nothing is allocated for a request on an existing key, between the bytes of a pipeline and the bytes of its replies.
func TestNoAllocations(t *testing.T) {
	for _, pipeline := range [][]string{
		{"CL.THROTTLE k 15 30 60"},
		{"CL.THROTTLE k 15 30 60 0"},
		{"TB.ACQUIRE k 10 100/s"},
		{"TB.ACQUIRE k 10 1/h 3"},
		{"TB.ACQUIRE k 10 1000/60", "TB.ACQUIRE j 10 5/500ms 2"},
		{"LB.ACQUIRE k 10 100/s"},
		{"LB.QUEUE k 1000000 100/s"},
		{"FW.ACQUIRE k 10 1h"},
		{"FW.ACQUIRE k 1000000 10s"},
		{"FW.ACQUIRE k 1000000 @month"},
		{"FW.ACQUIRE k 1000000 @month TZ Europe/Berlin FROM 17", "FW.ACQUIRE j 1000000 @year FROM 04-06"},
		{"FW.ACQUIRE k 1000000 @month WARN 80%", "TB.ACQUIRE j 1000000 1/s WARN 80%"},
		{"SW.ACQUIRE k 10 1h"},
		{"SW.ACQUIRE k 1000000 10s"},
		{"SL.ACQUIRE k 10 1h"},
		{"SL.ACQUIRE k 100000 10s"},
		{"CC.ACQUIRE k 10 1h worker-1", "CC.ACQUIRE k 10 1h worker-2"},
		{"CC.ACQUIRE k 10 1h worker-1", "CC.ACQUIRE k 10 1h worker-2", "CC.RELEASE k worker-2"},
		{"RL.ALL TB user:1 10 100/s TB tenant:1 100 1000/s TB all 1000 1000/s"},
		{"RL.ALL FW user:1 10000000 1h SW tenant:1 1000000 1h LB all 1000000 1000/s TOKENS 2"},
		{"RL.ALL SL user:1 1000 1h CC tenant:1 10 1h me"},
		{"RL.ALL TB user:1 1000000000 100/s COST 1 TB tenant:1 1000000000000 1000/s COST 8000 KEEP 12.5% CC calls 5 10m me COST 0 LQ line 1000000000 1000000/s"},
		{"RL.ALL FW user:1 10 1h COST 9 KEEP 1 SW user:2 1000000 1h KEEP 50% SL user:3 100 1h COST 0 CL user:4 10 1 1 KEEP 0%"},
		{"RL.ALL TB user:1 1 1/s TB user:2 1000000 1000/s COST 20 MAXWAIT 1h"},
		{"TB.ACQUIRE k 10 100/s KEEP 10%", "FW.ACQUIRE j 1000000 1h 2 UPTO KEEP 100"},
		{"RL.CHECK priced user-1", "RL.CHECK priced user-1 3 KEEP 25%", "RL.CHECK priced user-1 MAXWAIT 1h"},
		{"RL.CHECK api user-1"},
		{"RL.CHECK api user-1 3", "RL.CHECK trial user-2"},
		{"RL.CHECK llm user:1 3 WITH tenant acme model large", "RL.CHECK llm user-2 WITH model 50% tenant acme"},
		{"PING"},
		{"TTL k"},
	} {
		h := newEnv(t, store.New(store.Config{Shards: 16}), clocktest.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)).Clock)
		s := h.NewSession("client", "server", func() {})
		batch, cfg := h.getBatch(), h.config()
		s.receive(frames("RL.POLICY SET api TB user:{} 10 100/s TB tenant:{} 100 1000/s TB all 1000 1000/s",
			"RL.POLICY SET priced TB user:{} 1000000000 100/s COST 8000 KEEP 10% TB all 1000000 1000/s LQ line:{} 1000000000 1000000/s COST 2 CC calls:{} 10 1h {}",
			"RL.POLICY SET trial TB trial:{} 10 100/s CC jobs:{} 10 1h {} SHADOW",
			"RL.POLICY SET llm TB tpm:{tenant}:{} 10 100/s TB model:{model} 100 1000/s CC calls:{tenant} 10 1h {model}:{}"), batch, cfg)
		in := bytes.Repeat(frames(pipeline...), 64)
		feed := func() {
			batch.out.Buf = batch.out.Buf[:0]
			s.receive(in, batch, cfg)
		}
		feed()
		if replies := bytes.Count(batch.out.Buf, []byte("\r\n")); replies < 64*len(pipeline) {
			t.Fatalf("%v: only %d lines of replies", pipeline, replies)
		}
		if n := testing.AllocsPerRun(200, feed); n != 0 {
			t.Errorf("%v: %v allocations for %d requests", pipeline, n, 64*len(pipeline))
		}
	}
}

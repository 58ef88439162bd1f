package cluster

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

const (
	placeCount = 2
	placesKey  = "{places}"
)

// places counts the holders of leases of one limit.
type places struct {
	held   atomic.Int64 // by clients that were told so, and that have not asked to release them yet
	most   atomic.Int64 // that were held at the same time
	leases atomic.Int64
}

// placeOp asks for a place, alone or together with a bucket whose denied callers are told their turns.
func placeOp(r *rand.Rand, holder string) engine.Op {
	op := engine.Op{Verb: engine.Acquire, Key: []byte(placesKey), Who: []byte(holder), Tokens: 1,
		Limit: limits.Limit{Algorithm: limits.Concurrency, Capacity: placeCount, Rate: limits.Rate{Period: int64(24 * time.Hour)}}}
	if r.IntN(2) == 0 {
		return op
	}
	bucket := acquire("turns of "+placesKey, 20, 1)
	bucket.Options = engine.Spread
	bucket.Limit.Rate = limits.Rate{Tokens: 10, Period: int64(time.Second)}
	return engine.Op{Verb: engine.AcquireAll, Tokens: 1, Parts: []engine.Op{bucket, op}}
}

// placeClient takes a place at random nodes, and gives it back until that is certain. Each lease has a holder of its own:
// a release of unknown outcome may be carried out after the next lease of its holder began.
func (w *world) placeClient(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 4))
	for lease := 0; !w.stopped.Load(); lease++ {
		holder := fmt.Sprint("holder", seed, "-", lease)
		n := w.toAsk(r)
		if n == nil {
			continue
		}
		res := do(n, placeOp(r, holder))[0]
		if res.Status == engine.OK && res.Allowed {
			w.places.leases.Add(1)
			held := w.places.held.Add(1)
			w.places.most.Store(max(held, w.places.most.Load()))
			time.Sleep(time.Duration(r.IntN(50)) * time.Millisecond)
			w.places.held.Add(-1)
		}
		for isHeld := res.Allowed || res.Status == engine.Uncertain; isHeld && !w.stopped.Load(); {
			if n = w.toAsk(r); n != nil {
				status := do(n, engine.Op{Verb: engine.Release, Key: []byte(placesKey), Who: []byte(holder)})[0].Status
				isHeld = status != engine.OK && status != engine.NotFound
				time.Sleep(5 * time.Millisecond)
			}
		}
		time.Sleep(time.Duration(5+r.IntN(100)) * time.Millisecond)
	}
}

func (p *places) check() error {
	if most := p.most.Load(); most > placeCount {
		return fmt.Errorf("%d leases were held at the same time, of %d", most, placeCount)
	}
	return nil
}

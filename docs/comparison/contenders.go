package main

import (
	"time"

	"github.com/stintdb/stint/engine"
)

// contender is one algorithm with the parameters that come nearest to 100 a second and 200 at once.
type contender struct {
	name    string
	command string
	op      engine.Op
	hold    time.Duration // a lease is released after this long
}

const (
	ms     = int64(time.Millisecond)
	second = int64(time.Second)
)

func meter(a engine.Algorithm, capacity int64) engine.Limit {
	return engine.Limit{Algorithm: a, Capacity: capacity, Rate: engine.Rate{Tokens: 100, Period: second}}
}

func window(a engine.Algorithm, span engine.Span) engine.Limit {
	return engine.Limit{Algorithm: a, Span: span, Capacity: 200, Rate: engine.Rate{Period: 2 * second}}
}

var contenders = []contender{
	{"GCRA", "CL.THROTTLE k 199 100 1", engine.Op{Limit: meter(engine.GCRA, 200)}, 0},
	{"token bucket", "TB.ACQUIRE k 200 100", engine.Op{Limit: meter(engine.TokenBucket, 200)}, 0},
	{"token bucket, waiting", "TB.ACQUIRE k 200 100 BLOCK 1s", engine.Op{Limit: meter(engine.TokenBucket, 200), MaxWait: second}, 0},
	{"leaky bucket as a meter", "LB.ACQUIRE k 200 100", engine.Op{Limit: meter(engine.LeakyBucket, 200)}, 0},
	{"leaky bucket as a queue", "LB.QUEUE k 200 100 BLOCK 10s", engine.Op{Limit: meter(engine.LeakyQueue, 201), MaxWait: 10 * second}, 0},
	{"fixed window, from the first request", "FW.ACQUIRE k 200 2s", engine.Op{Limit: window(engine.FixedWindow, engine.FromFirst)}, 0},
	{"fixed window, by the clock", "FW.ACQUIRE k 200 @2s", engine.Op{Limit: window(engine.FixedWindow, engine.Aligned)}, 0},
	{"sliding window counter", "SW.ACQUIRE k 200 2s", engine.Op{Limit: window(engine.SlidingWindow, engine.FromFirst)}, 0},
	{"sliding window log", "SL.ACQUIRE k 200 2s", engine.Op{Limit: window(engine.SlidingLog, engine.FromFirst)}, 0},
	{"fair share, one member", "FS.ACQUIRE k 200 100 member", engine.Op{Limit: meter(engine.FairShare, 200), Who: []byte("member")}, 0},
	{"tree of classes, an ancestor alone", "HT.ACQUIRE class 1 1 200 100 UNDER root 200 100", treeOf(200), 0},
	{"adaptive bucket, no reports", "AD.ACQUIRE k 200 10 100", engine.Op{Limit: engine.Limit{Algorithm: engine.Adaptive, Capacity: 200, Least: 10,
		Rate: engine.Rate{Tokens: 100, Period: second}}}, 0},
	{"concurrency", "CC.ACQUIRE k 200 1m holder", engine.Op{Limit: engine.Limit{Algorithm: engine.Concurrency, Capacity: 200,
		Rate: engine.Rate{Period: 60 * second}}}, 2 * time.Second},
}

// treeOf asks a class that is assured next to nothing, under a root that nobody else uses.
func treeOf(capacity int64) engine.Op {
	op := engine.Op{Verb: engine.AcquireAll, Tokens: 1}
	for _, key := range []string{"class", "root"} {
		op.Parts = append(op.Parts, engine.Op{Key: []byte(key), Limit: meter(engine.Class, capacity), Tokens: 1})
	}
	op.Parts[0].Who = engine.AppendAssured(nil, 1, engine.Rate{Tokens: 1, Period: second})
	return op
}

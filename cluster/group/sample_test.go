package group

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

func acquire(key string, capacity int64, tokens int64) engine.Op {
	return engine.Op{Verb: engine.Acquire, Key: []byte(key), Tokens: tokens, Limit: limits.Limit{Algorithm: limits.TokenBucket, Capacity: capacity, Rate: limits.Rate{Tokens: 1, Period: int64(time.Hour)}}}
}

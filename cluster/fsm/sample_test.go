package fsm

import (
	"encoding/binary"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

func acquire(key string, capacity int64, tokens int64) engine.Op {
	return engine.Op{Verb: engine.Acquire, Key: []byte(key), Tokens: tokens,
		Limit: limits.Limit{Algorithm: limits.TokenBucket, Capacity: capacity, Rate: limits.Rate{Tokens: 1,
			Period: int64(time.Hour)}}}
}

// longDelete is a group with one Delete, whose verb has a separate byte like the verbs from 15 on.
func longDelete(key string) []byte {
	op := append([]byte{0x0f, byte(engine.Delete), byte(len(key))}, key...)
	group := binary.AppendUvarint(nil, 1<<1)
	return append(binary.AppendUvarint(group, uint64(len(op))), op...)
}

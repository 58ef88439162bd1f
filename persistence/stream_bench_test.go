package persistence

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
)

// BenchmarkState measures the write and the read of a state of a million keys of 16 bytes, and its bytes per key.
func BenchmarkState(b *testing.B) {
	const keys = 1_000_000
	s := store.New(store.Config{})
	defer s.Close()
	for i := range keys {
		apply(s, someTime, engine.Op{Key: fmt.Appendf(nil, "key:%012d", i), Limit: tokenLimits[0], Tokens: 1})
	}
	var to bytes.Buffer
	b.Run("write", func(b *testing.B) {
		for range b.N {
			to.Reset()
			f := s.Snapshot()
			if states, _, err := WriteState(&to, f, someTime); err != nil || states != keys {
				b.Fatal(states, err)
			}
			f.Release()
		}
		b.ReportMetric(float64(to.Len())/keys, "bytes/key")
	})
	b.Run("read", func(b *testing.B) {
		for range b.N {
			again := store.New(store.Config{})
			if _, states, err := ReadState(bytes.NewReader(to.Bytes()), again, 0); err != nil || states != keys {
				b.Fatal(states, err)
			}
			again.Close()
		}
	})
}

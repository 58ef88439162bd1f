package conn

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
)

// The bytes of watched keys are bounded too, and a key is watched once.
func TestWatchedBytesAreBounded(t *testing.T) {
	var w watchedKeys
	const most = 100 * (1000 + watchOverhead)
	seen := make([]byte, engine.FingerprintBytes)
	for i := range 101 {
		if ok := w.add(fmt.Appendf(nil, "%01000d", i), seen, most); ok != (i < 100) {
			t.Errorf("key %d is watched: %t", i, ok)
		}
		if !w.add(bytes.Repeat([]byte("0"), 1000), seen, most) {
			t.Error("a key that is watched already is refused")
		}
	}
	if w.count() != 100 || w.memory() != most || len(w.expect.Who) != 100*engine.FingerprintBytes {
		t.Errorf("%d keys of %d bytes, with fingerprints of %d", w.count(), w.memory(), len(w.expect.Who))
	}
}

// Nobody knows whether the keys of a WATCH without an answer change, so EXEC does nothing.
func TestWatchWithoutAnswer(t *testing.T) {
	var w watchedKeys
	if err := w.watch(&commandBatch{}, &reply{count: 1}, 1000, command.ErrNoLeader); !errors.Is(err, command.ErrNoLeader) || !w.lost || w.count() != 0 {
		t.Errorf("%v, lost: %t, %d keys", err, w.lost, w.count())
	}
}

package blocking

import (
	"bytes"
	"strconv"

	"github.com/stintdb/stint/engine"
)

// claim is the place of a node's clients in the line of a key: the times at which the first and the second of them
// came. It stands in an attempt in place of the timeout, which is for the client's own node.
type claim struct {
	node    string
	arrived int64 // in nanoseconds of the leader's time
	next    int64 // the same of the second client, or none

	challenged int64 // since when clients of other nodes have had to wait because of it, 0 if none does
	again      int64 // when one last had to
}

const (
	claimWord = "\x00waits" // begins no timeout
	none      = int64(-1)
)

// Claim is the last word of an attempt: the ages of its client's wait, and of the next ones in the lines of its keys.
func (w *Waiter) Claim(now int64, keys ...string) []byte {
	k := w.of
	k.mu.Lock()
	defer k.mu.Unlock()
	b := strconv.AppendInt(append(append(append([]byte(claimWord), ' '), k.node...), ' '), now-w.arrived, 10)
	for _, key := range keys {
		next := none
		if l := k.lines[ToTake][key]; l != nil && l.first.of == w && l.first.next != nil {
			next = now - l.first.next.of.arrived
		}
		b = strconv.AppendInt(append(b, ' '), next, 10)
	}
	return b
}

// readClaims reads the last word of an attempt: a claim for each of its keys. An operation that is no attempt has none.
func readClaims(now int64, op *engine.Op) (keys [][]byte, claims []claim) {
	if !isAttempt(op) {
		return nil, nil
	}
	words := bytes.Split(op.Args[len(op.Args)-1], []byte(" "))
	if len(words) < 3 || len(words)-3 > len(op.Args)-2 {
		return nil, nil
	}
	waited, err := strconv.ParseInt(string(words[2]), 10, 64)
	for i, word := range words[3:] {
		next, wrong := strconv.ParseInt(string(word), 10, 64)
		if err != nil || wrong != nil {
			return nil, nil
		}
		c := claim{node: string(words[1]), arrived: now - max(waited, 0), next: none}
		if next >= 0 {
			c.next = now - next
		}
		keys, claims = append(keys, op.Args[1+i]), append(claims, c)
	}
	return keys, claims
}

// isAttempt reports whether an operation is an attempt of a client that may wait. No other command that begins with a b
// has such a last word.
func isAttempt(op *engine.Op) bool {
	return len(op.Args) > 2 && op.KeyFrom == 1 && bytes.HasPrefix(op.Args[len(op.Args)-1], []byte(claimWord)) &&
		len(op.Args[0]) > 0 && op.Args[0][0]|0x20 == 'b'
}

package keyspace

import (
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

// Rewind turns the times of all keys back, from a time that was ahead to the true one, in nanoseconds since the Unix
// epoch. It is for a store that was just recovered, before it decides anything.
//
// Each key then has the tokens, waits and time to live at the time to that it had at from, but a sliding window may
// count for up to a window longer, and the reservation of a counted window no longer gives tokens back to it. Limiters
// that had expired at from, and can be of a time just before to, stay as they are: they are from before the clock ran
// ahead.
func (s *Keyspace) Rewind(from, to int64) {
	s.each(func(sh *Shard) {
		sh.Each(func(_ []byte, limit *limits.Limit, state []byte) { algorithm.RewindState(state, limit, from, to) })
		sh.latest = 0
	})
	s.Admission.Shared.Rewind(from, to)
}

package keyspace

import (
	"crypto/sha256"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/largevalues"
)

// Fingerprint is the beginning of a SHA-256 of the limit and state of a key, zeros for a key that does not exist or has
// expired. As in [Keyspace.Dump], the layout in memory does not count, so that replicas have the same. Of a
// value in blocks its version counts: it is another one after each change, also after a change back. work is in units of
// [engine.Result.Work].
func (s *Shard) Fingerprint(now int64, tag uint32, key []byte) (sum [engine.FingerprintBytes]byte, work int) {
	p := s.Find(tag, key)
	if !p.Found {
		return sum, 0
	}
	limit, state := s.StateAt(p)
	if algorithm.Table[limit.Algorithm].Expired(state, limit, now) {
		return sum, 0
	}
	known := limit.Append(nil)
	if largevalues.IsHead(limit, state) {
		known = largevalues.AppendVersion(known, state)
	} else {
		known = append(known, PlainState(limit, state, now)...)
	}
	whole := sha256.Sum256(known)
	copy(sum[:], whole[:])
	return sum, FingerprintWork(len(known))
}

// answerFingerprint carries out a Fingerprint.
func answerFingerprint(s *Shard, c *algorithm.Call, tag uint32) {
	sum, work := s.Fingerprint(c.Now, tag, c.Op.Key)
	c.Result.Reply, c.Result.Work = append(c.Result.Reply[:0], sum[:]...), work
}

// FingerprintWork is the work of the fingerprint of a state.
func FingerprintWork(bytes int) int { return hashWork * bytes / WorkBytes }

// hashWork is the work of hashing as many bytes as are copied in one unit.
const hashWork = 8

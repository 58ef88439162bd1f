package keyspace

import (
	"crypto/sha256"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
)

// Fingerprint is the beginning of a SHA-256 of the limit and state of a key, zeros for a key that does not exist or has
// expired. As in [Keyspace.Dump], the layout in memory does not count, so that replicas have the same. work is in units
// of [engine.Result.Work].
func (s *Shard) Fingerprint(now int64, tag uint32, key []byte) (sum [engine.FingerprintBytes]byte, work int) {
	p := s.Find(tag, key)
	if !p.Found {
		return sum, 0
	}
	e := s.entry(s.record(p.ref)).Whole()
	limit, state := &e.Limit, e.State
	if algorithm.Table[limit.Algorithm].Expired(state, limit, now) {
		return sum, 0
	}
	whole := sha256.Sum256(append(limit.Append(nil), PlainState(limit, state, now)...))
	copy(sum[:], whole[:])
	return sum, FingerprintWork(len(state))
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

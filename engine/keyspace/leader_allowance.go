package keyspace

import (
	"bytes"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/limits"
)

// A cluster's leader takes tokens in its memory, of a key without a limiter in the log's state: at most
// [limits.Limit.LeaderAllowance]. Before the next operation on the key goes through the log, a Carry hands them over.
// Op.PriorAt stands for the tokens that were not handed over: a later leader cannot know how many there were.

// carry makes a limiter that begins with tokens taken before, unless the key has one.
func (s *Shard) carry(c *algorithm.Call, tag uint32, p Place) {
	if !c.IsNew {
		return
	}
	c.StartFrom(c.Op.Tokens, c.Op.PriorAt)
	c.Next = [algorithm.MaxState]byte(c.State[:algorithm.MaxState])
	if !algorithm.Table[c.Limit.Algorithm].Expired(c.Next[:], &c.Limit, c.Now) && !s.Keep(c, tag, p) {
		c.Result.Status = engine.OutOfRoom
	}
}

// IsNew reports whether a key has no limiter and no data.
func (s *Keyspace) IsNew(now int64, key []byte) bool {
	isNew, _ := s.admits(now, s.Hash(key), key)
	return isNew
}

// AdmitsNew reports whether a key has no limiter and no data, and no rule keeps new keys such as it out.
func (s *Keyspace) AdmitsNew(now int64, key []byte) bool {
	isNew, admitted := s.admits(now, s.Hash(key), key)
	return isNew && admitted
}

func (s *Keyspace) admits(now int64, hash uint64, key []byte) (isNew, admitted bool) {
	sh := &s.shards[s.shardOf(hash)]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := sh.Find(uint32(hash), key)
	return !p.Found || sh.expired(sh.record(p.ref), sh.latest.instant(now, false)), s.Admission.RulesFor(key, p.Found, nil) == nil
}

// TakeAllowance carries out an Acquire in taken, the keys of a store made by Store.Beside, if s admits the key as a new
// one at logTime, and the Acquire can be granted and leaves all but the leader's allowance of the limit untouched.
// Otherwise it changes nothing, res has no meaning, and it returns false. hash is the hash of the key.
func (s *Keyspace) TakeAllowance(taken *Keyspace, hash uint64, logTime, now, priorAt int64, op *engine.Op, res *engine.Result) (done bool) {
	c := taken.Calls.Get().(*algorithm.Call)
	defer taken.Calls.Put(c)
	own := &c.Allowance
	var ok bool
	if *own, ok = op.OfAllowance(); !ok {
		return false
	}
	if isNew, admitted := s.admits(logTime, hash, op.Key); !isNew || !admitted {
		return false
	}
	own.PriorAt = priorAt
	res.Clear()
	c.Listed = 0
	sh, tag := &taken.shards[taken.shardOf(hash)], uint32(hash)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := sh.Find(tag, op.Key)
	sh.Load(c, sh.latest.instant(now, op.Options&engine.Peek == 0), own, res, p)
	if !c.IsNew && c.Prev != op.Limit {
		return false
	}
	return !c.Ask() && op.Options&engine.Peek != 0 || res.Allowed && (op.Options&engine.Peek != 0 || sh.Keep(c, tag, p))
}

// Taken is the Carry that hands the tokens taken of a key over to another store. It returns false if there are none.
func (s *Keyspace) Taken(now int64, key []byte) (carry engine.Op, found bool) {
	c := s.Calls.Get().(*algorithm.Call)
	defer s.Calls.Put(c)
	sh, tag := s.Locate(key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	now = sh.latest.instant(now, false)
	op, res := engine.Op{Verb: engine.Look, Key: key}, engine.Result{}
	if sh.Load(c, now, &op, &res, sh.Find(tag, key)); c.IsNew || !c.Prev.Algorithm.CanBeLent() {
		return carry, false
	}
	c.Limit = c.Prev
	algorithm.Table[c.Limit.Algorithm].Look(c)
	at := now
	if c.Limit.Algorithm == limits.FixedWindow {
		at += res.Reset - c.Limit.Rate.Period // the start of its window
	}
	return engine.Op{Verb: engine.Carry, Key: bytes.Clone(key), Limit: c.Limit, Tokens: c.Limit.Capacity - res.Remaining, PriorAt: at}, true
}

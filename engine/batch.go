package engine

// Batch is operations to be decided together: one pipeline's, or one transaction's.
type Batch struct {
	Ops     []Op     // their keys and arguments are in memory that is used again once the decider has returned
	Results []Result // as long as Ops
	Atomic  bool     // all at one instant without other operations in between: MULTI … EXEC
	Local   bool     // reads may be answered from this node's own state, which may be behind: READONLY
	InOrder bool     // no read is answered from a state older than this node's own: the client keeps it until that changes

	// Worked is set before Done is called: the nanoseconds for which other goroutines have carried the batch out, without
	// any wait, as far as they measure it.
	Worked int64

	// Done is called once, from another goroutine, when the results are ready, if the decider could not finish at once.
	Done func()
}

// Clone returns a batch with copies of keys and arguments, for a decider that needs them after it has returned. Its
// results and Done are the ones of b.
func (b *Batch) Clone() *Batch {
	c := *b
	c.Ops = make([]Op, len(b.Ops))
	for i := range b.Ops {
		c.Ops[i] = b.Ops[i].Clone()
	}
	return &c
}

package engine

const (
	// workBytes is the number of bytes copied in about the time that one lease is read.
	workBytes = 64
	// OpWork is the fixed cost of an operation, in units of [Result.Work].
	OpWork = 20
	// MaxHolderWork is the most that looking through the holders of one key takes.
	MaxHolderWork = MaxHolders + OpWork
	// MaxLogWork is the most that keeping a request in a sliding log of the default bound takes: the log may have to be
	// copied.
	MaxLogWork = 100_000*16/workBytes + OpWork
)

// Weigh returns about the work that operations would take now, at most. It looks each key up, and no further.
func (s *Store) Weigh(ops []Op) (work int) {
	more := 0 // leases that operations before may have added
	for i := range ops {
		op, limits := &ops[i], ops[i:i+1]
		switch op.Verb {
		case AcquireAll, Check:
			limits = s.Asked(op)
		case Command, Script:
			if s.commands != nil {
				work += s.commands.Weigh(op)
			}
			continue
		case Flush, SetPolicy, DropPolicy, SetOverride, Restrict, KeepOverflow, KeepScript, DropScripts:
			work += OpWork
			continue
		}
		for j := range limits {
			work += s.weigh(&limits[j], &more)
		}
	}
	return work
}

func (s *Store) weigh(op *Op, more *int) int {
	if op.Verb == Acquire && op.Limit.Algorithm == Concurrency {
		*more++
	}
	sh, tag := s.locate(op.Key)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	p := sh.find(tag, op.Key)
	if !p.found {
		return OpWork + *more
	}
	r := sh.record(p.ref)
	switch alg := sh.limitOf(r).Algorithm; alg {
	case Concurrency:
		return OpWork + min(leases(algorithms[alg].stateOf(r.rest())).used()/leaseHead+*more, MaxHolders)
	case SlidingLog:
		if op.Verb == ListLog {
			return OpWork + min(sh.size(r)/logEntry, int(op.Tokens))
		}
		return OpWork + sh.size(r)/workBytes
	}
	return OpWork
}

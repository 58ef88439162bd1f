package entrylog

import "slices"

// fullCopy is how many bytes are copied with one write.
const fullCopy = 1 << 20

// DropFrom is [Log.DropFrom].
func (g *Group) DropFrom(index uint64) {
	g.shared.mu.Lock()
	defer g.shared.mu.Unlock()
	g.places = g.places[:min(max(index, g.first)-g.first, uint64(len(g.places)))]
}

// DropBefore is [Log.DropBefore]. Files are removed later.
func (g *Group) DropBefore(index uint64) error {
	l := g.shared
	l.mu.Lock()
	n := min(max(index, g.first)-g.first, uint64(len(g.places)))
	g.places = slices.Clone(g.places[n:])
	g.first += n
	if l.open > 0 {
		l.trims.Go(func() {
			if err := l.trim(); err != nil {
				l.log.Warn("old parts of the groups' log cannot be removed yet", "error", err)
			}
		})
	}
	l.mu.Unlock()
	return nil
}

// Forget drops all entries durably: the group has left this node, and if it comes back, its log begins anew. A record
// of index 0, which no entry has, stands before what follows.
func (g *Group) Forget() error {
	w, err := g.newWrite([]Entry{{}})
	if err != nil {
		return err
	}
	if err := g.shared.append(w); err != nil {
		return err
	}
	return g.DropBefore(0)
}

// trim retires the files that hold no entry. If entries of groups that write little keep too many, it first copies
// these entries to the end.
func (l *Shared) trim() error {
	if !l.trimming.TryLock() {
		return nil // the next drop does it
	}
	defer l.trimming.Unlock()
	for copies := l.pinning(); len(copies) > 0; {
		n, err := l.copy(copies)
		if err != nil {
			return err
		}
		copies = copies[n:]
	}
	oldest, _, _ := l.oldest()
	return l.file.DropBefore(oldest)
}

// oldest is the number of the first record with an entry, at most the last record, so that the numbers go on after it;
// the bytes before it; and the bytes of all entries.
func (l *Shared) oldest() (number uint64, at, live int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	number, at = l.next-1, l.end
	for _, g := range l.groups {
		for _, p := range g.places {
			if live += p.bytes; p.number <= number {
				number, at = p.number, p.at
			}
		}
	}
	return number, at, live
}

// pinning is the entries that keep more old files than are allowed: more than twice the bytes of all entries, and room.
// Less is then copied than removed.
func (l *Shared) pinning() (copies []sharedEntry) {
	_, at, live := l.oldest()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.end-at <= 2*live+l.room {
		return nil
	}
	cut := l.end - live - l.room/2
	for _, g := range l.groups {
		for i, p := range g.places {
			if p.at < cut {
				copies = append(copies, sharedEntry{g, g.first + uint64(i), p.number})
			}
		}
	}
	return copies
}

// copy copies the first of some records to the end.
func (l *Shared) copy(copies []sharedEntry) (n int, err error) {
	w, size := newSharedWrite(0), 0
	for ; n < len(copies) && size < fullCopy; n++ {
		e := copies[n]
		l.mu.Lock()
		p := e.group.place(e.index)
		isThere := p != nil && p.number == e.from
		l.mu.Unlock()
		if !isThere {
			continue // it was dropped
		}
		record, err := l.file.Get(e.from)
		if err != nil {
			return 0, err
		}
		size += len(record)
		w.add(record, e)
	}
	if len(w.records) == 0 {
		return n, nil
	}
	return n, l.append(w)
}

// Close ends the use of the log by a group. The last one closes the files.
func (g *Group) Close() error {
	l := g.shared
	l.mu.Lock()
	l.open--
	isLast := l.open == 0
	l.mu.Unlock()
	if !isLast {
		return nil
	}
	l.trims.Wait()
	return l.file.Close()
}

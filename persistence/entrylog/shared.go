package entrylog

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/persistence/disk"
)

// Shared is one [Log] with the entries of several groups: entries that groups append at the same time leave in one
// write, and one sync makes them durable. Methods may be called from any goroutine.
//
// A record of the file is an entry of a group, after this head:
//
//	4  number of the group
//	8  index of the entry in the group's log
//	8  order: the number of the record in which the entry was first
//	8  order of the entry before it, 0 if there was none
//
// A group's log is the entry of the highest order, the one before it, and so on, until one is missing. A record that is
// copied to the end, so that the files before it can be removed, keeps its order, so it does not matter when that
// happens, nor which records are left that nobody needs.
type Shared struct {
	file *Log
	log  *slog.Logger
	room int64 // bytes that records without use may take

	mu      sync.Mutex
	queue   []*sharedWrite // waits for the write under way
	writing bool
	next    uint64 // number of the next record
	end     int64  // bytes of all records up to it, since the log was opened
	groups  map[uint32]*Group
	open    int // groups that are not closed

	trimming sync.Mutex // held while records are moved and files removed
	trims    sync.WaitGroup
}

// sharedRoom is [Shared.room] in use: some files.
const sharedRoom = 4 * segmentBytes

// Group is the log of one group in a [Shared], with the methods of a [Log].
type Group struct {
	shared *Shared
	number uint32
	syncs  atomic.Int64
	first  uint64 // index of places[0]
	places []sharedPlace
}

// sharedPlace is the record of an entry.
type sharedPlace struct {
	number uint64 // of the record
	order  uint64
	at     int64 // bytes of the records before it
	bytes  int64
}

// sharedWrite is what one caller appends. Its records are a group's new entries, or copies of entries.
type sharedWrite struct {
	records []Entry // their numbers are given when they are written
	entries []sharedEntry
	begin   chan struct{} // receives when this caller writes for all that wait
	done    chan error
}

// sharedEntry is the entry of a record.
type sharedEntry struct {
	group *Group
	index uint64
	from  uint64 // the record that a copy replaces; 0 for a new entry
}

const (
	sharedHead = 4 + 8 + 8 + 8
	// maxSharedEntry is the size of an entry that certainly fits.
	maxSharedEntry = disk.MaxBlockBytes - disk.BlockAlign - sharedHead - disk.PayloadHead
	// fullSharedWrite bounds a write of several callers, if it is not the first one alone.
	fullSharedWrite = 8 << 20
)

// Group returns the log of a group.
func (l *Shared) Group(number uint32) *Group {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
	return l.group(number)
}

// HasEnded reports whether the files are closed: every group that was opened has been closed.
func (l *Shared) HasEnded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open == 0
}

// group is Group for a caller that holds mu, or is alone.
func (l *Shared) group(number uint32) *Group {
	g := l.groups[number]
	if g == nil {
		g = &Group{shared: l, number: number}
		l.groups[number] = g
	}
	return g
}

// Range is [Log.Range].
func (g *Group) Range() (first, last uint64) {
	g.shared.mu.Lock()
	defer g.shared.mu.Unlock()
	if len(g.places) == 0 {
		return 0, 0
	}
	return g.first, g.first + uint64(len(g.places)) - 1
}

// Syncs is how often this group has made its and others' entries durable: all groups together, as often as the file was
// synced.
func (g *Group) Syncs() int64 { return g.syncs.Load() }

// Identity is [Log.Identity].
func (g *Group) Identity() uint64 { return g.shared.file.Identity() }

// Position is [Log.Position].
func (g *Group) Position() uint64 { return g.shared.file.Position() }

// place is the record of an entry, nil without it. The caller holds mu.
func (g *Group) place(index uint64) *sharedPlace {
	if index < g.first || index-g.first >= uint64(len(g.places)) {
		return nil
	}
	return &g.places[index-g.first]
}

// Get is [Log.Get].
func (g *Group) Get(index uint64) ([]byte, error) {
	for {
		g.shared.mu.Lock()
		p := g.place(index)
		if p == nil {
			g.shared.mu.Unlock()
			return nil, ErrNoEntry
		}
		number := p.number
		g.shared.mu.Unlock()
		record, err := g.shared.file.Get(number)
		if err == nil {
			return record[sharedHead:], nil
		}
		g.shared.mu.Lock()
		now := g.place(index)
		moved := now == nil || now.number != number
		g.shared.mu.Unlock()
		if !moved {
			return nil, err
		}
	}
}

// Append is [Log.Append], of entries that follow one another.
func (g *Group) Append(entries []Entry) error {
	w, err := g.newWrite(entries)
	if err != nil {
		return err
	}
	return g.shared.append(w)
}

func (g *Group) newWrite(entries []Entry) (*sharedWrite, error) {
	w := newSharedWrite(len(entries))
	for _, e := range entries {
		if len(e.Data) > maxSharedEntry {
			return nil, fmt.Errorf("an entry of %d bytes does not fit the log", len(e.Data))
		}
		b := make([]byte, sharedHead, sharedHead+len(e.Data))
		binary.LittleEndian.PutUint32(b, g.number)
		binary.LittleEndian.PutUint64(b[4:], e.Index)
		w.add(append(b, e.Data...), sharedEntry{group: g, index: e.Index})
	}
	return w, nil
}

func newSharedWrite(room int) *sharedWrite {
	return &sharedWrite{records: make([]Entry, 0, room), entries: make([]sharedEntry, 0, room), begin: make(chan struct{}, 1), done: make(chan error, 1)}
}

func (w *sharedWrite) add(record []byte, e sharedEntry) {
	w.records, w.entries = append(w.records, Entry{Data: record}), append(w.entries, e)
}

// append writes records, or leaves that to another caller, and returns when they are durable. The caller that finds
// nobody writing writes for all that wait; the first of the callers that come meanwhile writes for them.
func (l *Shared) append(w *sharedWrite) error {
	l.mu.Lock()
	l.queue = append(l.queue, w)
	if l.writing {
		l.mu.Unlock()
		select {
		case err := <-w.done:
			return err
		case <-w.begin:
		}
		l.mu.Lock()
	}
	l.writing = true
	l.mu.Unlock()
	runtime.Gosched() // groups that propose together come to append together, too
	l.mu.Lock()
	taken := l.take()
	l.mu.Unlock()
	l.write(taken)
	return <-w.done
}

// take takes the writes that leave together, one of each group: the next one needs the order of its entries. The caller
// holds mu.
func (l *Shared) take() []*sharedWrite {
	n, size, groups := 0, 0, map[*Group]bool{}
	for ; n < len(l.queue) && (n == 0 || size < fullSharedWrite); n++ {
		w := l.queue[n]
		if first := w.entries[0]; first.from == 0 {
			if groups[first.group] {
				break
			}
			groups[first.group] = true
		}
		for _, r := range w.records {
			size += len(r.Data)
		}
	}
	taken := l.queue[:n:n]
	l.queue = l.queue[n:]
	return taken
}

// write appends records to the file, and tells their callers. After an error the first of them are durable and others
// not: each caller hears what happened to its own.
func (l *Shared) write(all []*sharedWrite) {
	var records []Entry
	number := l.next // only writers change it, one at a time
	tails := map[*Group]sharedEntryAt{}
	for _, w := range all {
		for i := range w.records {
			w.records[i].Index = number
			number++
		}
		l.link(w, tails)
		records = append(records, w.records...)
	}
	before := l.file.Syncs()
	err := l.file.Append(records)
	all[0].entries[0].group.syncs.Add(l.file.Syncs() - before)
	if err != nil {
		_, last := l.file.Range()
		number = max(last+1, l.next)
	}
	l.mu.Lock()
	for _, w := range all {
		for i, r := range w.records {
			if r.Index < number {
				l.put(w.entries[i], sharedPlace{r.Index, r.Index, l.end, int64(len(r.Data))})
				l.end += int64(len(r.Data))
			}
		}
	}
	l.next = number
	l.writing = false
	if len(l.queue) > 0 {
		l.writing = true
		l.queue[0].begin <- struct{}{}
	}
	l.mu.Unlock()
	for _, w := range all {
		if w.records[len(w.records)-1].Index < number {
			w.done <- nil
		} else {
			w.done <- err
		}
	}
}

// sharedEntryAt is an entry and its order.
type sharedEntryAt struct{ index, order uint64 }

// link writes into new records their order and the order of the entry before. tails are the last new entries of this
// write so far.
func (l *Shared) link(w *sharedWrite, tails map[*Group]sharedEntryAt) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, e := range w.entries {
		if e.from > 0 {
			continue
		}
		before := uint64(0)
		if tail, ok := tails[e.group]; ok && tail.index == e.index-1 {
			before = tail.order
		} else if p := e.group.place(e.index - 1); p != nil && !ok { // after a gap there is none
			before = p.order
		}
		r := w.records[i]
		binary.LittleEndian.PutUint64(r.Data[12:], r.Index)
		binary.LittleEndian.PutUint64(r.Data[20:], before)
		tails[e.group] = sharedEntryAt{e.index, r.Index}
	}
}

// put notes the record of an entry. A copy counts if the entry is still in the record that it was copied from. The
// caller holds mu.
func (l *Shared) put(e sharedEntry, p sharedPlace) {
	g := e.group
	if e.from > 0 {
		if old := g.place(e.index); old != nil && old.number == e.from {
			p.order = old.order
			*old = p
		}
		return
	}
	if e.index == 0 { // see Forget
		g.first, g.places = 0, nil
		return
	}
	if next := g.first + uint64(len(g.places)); e.index < g.first || e.index > next {
		g.places = g.places[:0]
	}
	if len(g.places) == 0 {
		g.first = e.index
	}
	g.places = append(g.places[:e.index-g.first], p)
}

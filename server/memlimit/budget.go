package memlimit

import (
	"time"

	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/sysmem"
)

// budget divides --max-memory, which is about the whole process, between keys and everything else: the program itself,
// and Go's heap, in which connections have their buffers.
type budget struct {
	total   int64      // --max-memory, or the default in its place
	system  int64      // what the machine or container has
	machine int64      // the default of total
	program int64      // resident memory outside of keys and Go's heap
	others  int64      // the part of it that is in no file, at the start
	heap    recentHeap // Go's need in the last seconds
	part    int64      // the rest, which is the keys'
	keys    int64      // the most that they may take now: of the part, what garbage leaves free
	growth  int64      // room that garbage leaves free for keys until the next round

	startup, peak int64 // memory in use when the server started, and at most

	full       bool // a replicated store's keys have reached it
	forced     admission.NewKeyCounts
	lastReport int64
}

const (
	programMin = 12 << 20
	programMax = 48 << 20
	// 1/spareShare of the whole stays free for shards that grow, and for changes between two rounds.
	spareShare = 50
	minKeys    = 1 << 20
	// 1/growthShare of the whole is the most room that garbage is collected for ahead of keys that come.
	growthShare = 16
	reportEvery = 10 * time.Second
)

// start looks at the process as it is before it serves anybody.
func (b *budget) start(keyBytes int64) {
	b.system = sysmem.Total()
	b.machine = b.system / 4 * 3
	of := readGoMemory()
	mapped := sysmem.MappedFiles()
	b.others = min(max(sysmem.RSS()-keyBytes-of.taken, programMin), programMax) - mapped
	b.noteProgram(mapped)
	b.startup = keyBytes + of.objects
	b.peak = b.startup
}

// noteProgram takes the program's part as it is by now: code is read from its file when it first runs.
func (b *budget) noteProgram(mapped int64) { b.program = max(b.program, b.others+mapped) }

// available is the memory for keys and heap.
func (b *budget) available() int64 { return b.total - b.total/spareShare - b.program }

// divide works out the most that keys may take. Room for full buffers of clients is set aside before there are any:
// keys that are kept cannot give it back when an attacker fills them. Free memory of the heap is part of that room,
// because Go does not always return all of it to the system. Garbage has to make way for keys, so that nobody's large
// replies have new keys of others refused: keys take the rest at once, and the collector makes more room by the next
// round.
func (b *budget) divide(cfg *config.Config, now, keys int64, of goMemory, buffered int64) {
	if b.total = cfg.MaxMemoryBytes; b.total == 0 {
		b.total = b.machine
	}
	b.heap.note(now, of.needed(), min(of.taken-of.idle, of.needed())-buffered)
	least, most := b.heap.bounds()
	b.part = b.available() - max(most, least+withGarbage(cfg.ClientMemory(b.total)))
	b.growth = min(max(b.part-keys, 0), b.total/growthShare)
	b.keys = max(min(b.part, max(keys, b.available()-of.taken)), minKeys)
}

// withGarbage is the memory that Go needs for a number of live bytes: garbage lies there until the next collection,
// which [collector.setLimit] hastens when memory is short.
func withGarbage(bytes int64) int64 { return bytes + bytes/2 }

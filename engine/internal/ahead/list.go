// Package ahead reads records before they are looked at, side by side.
package ahead

// List is records that will be looked at soon. All of them are read at once, with few instructions in between, so that the
// processor fetches them from memory at the same time: while a read waits for memory, the processor carries out only some
// hundred instructions that follow it.
type List struct {
	pieces [most][]byte
	count  int
	read   uint64 // because the compiler leaves out a read whose value nobody uses
}

// most is the pieces of memory that are read at once. More would gain nothing.
const most = 64

// Bytes of records, from their beginning, that are read: they lie in two lines of the processor's cache, or in three.
const (
	Short = 40  // a bucket with a key of 9 to 16 bytes
	long  = 104 // a reservation of one limit
)

// Add adds a record, as far as that of a bucket is long. It may be longer, or empty.
func (l *List) Add(record []byte) { l.add(record[:min(len(record), Short)]) }

// AddLong adds a record, as far as that of a reservation is long. It may be longer, or empty.
func (l *List) AddLong(record []byte) {
	l.Add(record)
	l.add(record[min(len(record), Short):min(len(record), long)])
}

func (l *List) add(piece []byte) {
	if len(piece) == 0 {
		return
	}
	if l.count == most {
		l.Read()
	}
	l.pieces[l.count] = piece
	l.count++
}

// Read reads what was added, and empties the list.
func (l *List) Read() {
	for _, b := range l.pieces[:l.count] {
		l.read |= uint64(b[0]) | uint64(b[len(b)-1])
	}
	l.count = 0
}

// Saw takes the value of another read.
func (l *List) Saw(value uint64) { l.read |= value }

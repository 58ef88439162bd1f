package offheap

import "sync"

const (
	// PieceBytes is the size of the blocks of which a large store has most. They are cut from larger ones: the system
	// bounds the number of mappings of a process, on Linux to 65,530.
	PieceBytes  = 64 << 10
	regionBytes = 64 * PieceBytes
)

// pieces are cut from regions that are never unmapped. A free piece takes addresses, and no memory.
type pieces struct {
	mu   sync.Mutex
	free [][]byte
}

var all pieces

// take returns nil when the system refuses.
func (p *pieces) take() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		region := mapBlock(regionBytes)
		for from := len(region); from > 0; from -= PieceBytes { // the first piece is taken first
			p.free = append(p.free, region[from-PieceBytes:from:from])
		}
		if region == nil {
			return nil
		}
	}
	last := len(p.free) - 1
	piece := p.free[last]
	p.free = p.free[:last]
	return piece
}

// give takes a piece back, to be taken again.
func (p *pieces) give(piece []byte) {
	if !discard(piece) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, piece)
}

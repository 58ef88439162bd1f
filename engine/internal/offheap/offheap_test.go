package offheap

import "testing"

// Blocks of all sizes are zero, also where another block had its memory before, and apart from each other.
func TestBlocks(t *testing.T) {
	sizes := []int{8, 1 << 10, 4 << 10, PieceBytes - 8, PieceBytes, PieceBytes + 4096, regionPieces * PieceBytes}
	var blocks [][]byte
	for round := range 3 {
		for i := range 300 {
			b := New(sizes[i%len(sizes)])
			if len(b) != sizes[i%len(sizes)] {
				t.Fatalf("%d bytes, want %d", len(b), sizes[i%len(sizes)])
			}
			for at, c := range b {
				if c != 0 {
					t.Fatalf("round %d: byte %d of %d is %d", round, at, len(b), c)
				}
			}
			for at := range b {
				b[at] = byte(i + 1)
			}
			blocks = append(blocks, b)
		}
		for i, b := range blocks {
			for at, c := range b {
				if c != byte(i%300+1) {
					t.Fatalf("round %d: byte %d of block %d is %d", round, at, i, c)
				}
			}
			Free(b)
		}
		blocks = blocks[:0]
	}
	words := Words(New(64))
	words[7] = 1 << 56
	if b := Bytes(words); len(b) != 64 || b[63] != 1 {
		t.Errorf("%v", b)
	}
}

// A block is zero as far as it can grow, also where a block that had grown was before.
func TestBlocksGrow(t *testing.T) {
	for range 3 {
		var blocks [][]byte
		for range regionPieces + 1 {
			small := New(minBytes)
			b := small[:cap(small)]
			for at, c := range b[minBytes:] {
				if c != 0 {
					t.Fatalf("byte %d after the block is %d", at, c)
				}
			}
			for at := range b {
				b[at] = 1
			}
			blocks = append(blocks, b)
		}
		for _, b := range blocks {
			Free(b)
		}
	}
}

// A block that is as large as those with room to grow goes back to them, where it came from.
func TestBlockOfTheSizeOfARoom(t *testing.T) {
	before := len(rooms.free)
	for range 2 * regionPieces {
		Free(New(roomBytes))
	}
	if more := len(rooms.free) - before; more > regionPieces {
		t.Errorf("%d more free blocks with room", more)
	}
}

//go:build unix && !linux && !race

package offheap

// discard makes the bytes of a block zero. It returns false if the block cannot be used again.
func discard(b []byte) bool {
	clear(b)
	return true
}

func avoidHugePages([]byte) {}

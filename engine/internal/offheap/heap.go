//go:build !unix || race

package offheap

// The race detector only watches memory of the Go heap, so race builds keep everything there.

func mapBlock(int) []byte { return nil }

func unmapBlock([]byte) {}

func discard([]byte) bool { return false }

func avoidHugePages([]byte) {}

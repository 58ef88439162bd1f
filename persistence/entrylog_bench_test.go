package persistence

import "testing"

// BenchmarkEntryLog appends entries of 16 KiB, each durable before the next, and drops those before the last 32 MiB.
func BenchmarkEntryLog(b *testing.B) {
	l, err := OpenEntryLog(Dir(b.TempDir()), true)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	data, index := make([]byte, 16<<10), uint64(0)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		index++
		if err := l.Append([]LogEntry{{index, data}}); err != nil {
			b.Fatal(err)
		}
		if index%1000 == 0 {
			if err := l.DropBefore(index - min(index, 2000)); err != nil {
				b.Fatal(err)
			}
		}
	}
}

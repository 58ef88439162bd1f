package entrylog

import (
	"testing"

	"github.com/stintdb/stint/persistence/disk"
)

// BenchmarkLog appends entries of 16 KiB, each durable before the next, and drops those before the last 32 MiB.
func BenchmarkLog(b *testing.B) {
	l, err := Open(disk.Dir(b.TempDir()), true)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	data, index := make([]byte, 16<<10), uint64(0)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		index++
		if err := l.Append([]Entry{{index, data}}); err != nil {
			b.Fatal(err)
		}
		if index%1000 == 0 {
			if err := l.DropBefore(index - min(index, 2000)); err != nil {
				b.Fatal(err)
			}
		}
	}
}

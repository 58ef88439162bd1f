package disk

import "testing"

// What a journal notes after each sync allocates nothing.
func TestManifestNotesWithoutAllocating(t *testing.T) {
	m := NewManifest(Claims{})
	if err := m.Create(Dir(t.TempDir())); err != nil {
		t.Fatal(err)
	}
	size := int64(0)
	if n := testing.AllocsPerRun(100, func() {
		size++
		if err := m.IsDurable(1, size); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

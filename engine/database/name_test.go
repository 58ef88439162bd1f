package database

import (
	"bytes"
	"testing"
)

// keys are names of keys that could be taken for others.
var keys = []string{"", "a", "\xff", "\xffd", "\xffdb", "\xffdb\x00", "\xffdb\x01", "\xffdb\x00a", "\xffdb\x01a", "\xffdb\x01\xffdb\x01a", "\xffdb\x00\xffdb\x01a", "\xffdc\x01a"}

func TestNamesAreDistinct(t *testing.T) {
	known := map[string]string{}
	for number := range Most {
		for _, key := range keys {
			name := string(Append(nil, uint8(number), []byte(key)))
			if other, is := known[name]; is {
				t.Fatalf("the name %q is that of %q in database %d, and of %s", name, key, number, other)
			}
			known[name] = key
			if n, k := Split([]byte(name)); int(n) != number || string(k) != key {
				t.Errorf("%q in database %d comes back as %q in %d", key, number, k, n)
			}
			if len(name)-len(key) > MaxNameBytes {
				t.Errorf("the name of %q has %d bytes more", key, len(name)-len(key))
			}
		}
	}
}

func TestKeysOfDatabase0AreTheirNames(t *testing.T) {
	key := []byte("user:7")
	var room Room
	if name := room.NameOf(0, key); &name[0] != &key[0] {
		t.Error("the key was copied")
	}
	for number := range 3 {
		for _, k := range keys {
			if name := room.NameOf(uint8(number), []byte(k)); string(name) != string(Append(nil, uint8(number), []byte(k))) {
				t.Errorf("%q in %d: %q", k, number, name)
			}
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, key := range keys {
		f.Add(uint8(0), []byte(key), uint8(1), []byte(key))
	}
	f.Fuzz(func(t *testing.T, a uint8, key []byte, b uint8, other []byte) {
		name := Append(nil, a, key)
		if n, k := Split(name); n != a || !bytes.Equal(k, key) {
			t.Fatalf("%q in database %d comes back as %q in %d", key, a, k, n)
		}
		if same := a == b && bytes.Equal(key, other); same != bytes.Equal(name, Append(nil, b, other)) {
			t.Fatalf("%q in %d and %q in %d: the same name or not", key, a, other, b)
		}
		Split(other) // takes any text
	})
}

func TestCounts(t *testing.T) {
	var c Counts
	for number := range 3 {
		for _, key := range keys {
			c.Add(Append(nil, uint8(number), []byte(key)), 1)
		}
	}
	c.Add(Append(nil, 2, []byte("a")), -1)
	if c.Of(1) != len(keys) || c.Of(2) != len(keys)-1 || c.Sum() != 2*len(keys)-1 || c.Last() != 2 {
		t.Errorf("%d, %d, %d, %d", c.Of(1), c.Of(2), c.Sum(), c.Last())
	}
}

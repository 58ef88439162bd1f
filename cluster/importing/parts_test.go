package importing

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence"
)

const at = int64(1_800_000_000_000_000_000)

// state returns a store with a policy and the keys 0 to 8. Of key i, i+1 tokens are taken.
func state(t *testing.T) *store.Store {
	t.Helper()
	s := store.New(store.Config{Shards: 2})
	t.Cleanup(s.Close)
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 10, Rate: limits.Rate{Tokens: 1,
		Period: int64(time.Hour)}}
	ops := []engine.Op{{Verb: engine.SetPolicy, Key: []byte("p"),
		Parts: []engine.Op{{Key: []byte("user:{}"), Limit: limit}}}}
	for k := range int64(9) {
		ops = append(ops, engine.Op{Verb: engine.Acquire, Key: fmt.Append(nil, k), Limit: limit, Tokens: k + 1})
	}
	s.Apply(at, ops, make([]engine.Result, len(ops)))
	return s
}

// byKey places the keys 0 to 2 in part 0, 3 to 5 in part 1, and 6 to 8 in none.
func byKey(e keyspace.Entry) int {
	if number := int(e.Key[0]-'0') / 3; number < 2 {
		return number
	}
	return -1
}

func path(dir string, number int) string {
	return filepath.Join(dir, fmt.Sprintf("import-%d.tmp", number))
}

// Each part has its entries as they were, and all policies. Files of an earlier run are replaced.
func TestParts(t *testing.T) {
	dir, written := t.TempDir(), []int(nil)
	if err := os.WriteFile(path(dir, 1), make([]byte, 1<<16), 0o600); err != nil {
		t.Fatal(err)
	}
	p := New(dir, state(t), at, 2, byKey, func(number int) { written = append(written, number) })
	for _, number := range []int{1, 0, 1} {
		in, size, err := p.Open(number)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(in)
		if err = errors.Join(err, in.Close()); err != nil || int64(len(b)) != size {
			t.Errorf("part %d has %d bytes, and says %d (%v)", number, len(b), size, err)
		}
		got := store.New(store.Config{Shards: 4})
		if when, keys, err := persistence.ReadState(strings.NewReader(string(b)), got, at); err != nil || when != at ||
			keys != 3 {
			t.Errorf("part %d has %d keys at %d (%v)", number, keys, when, err)
		}
		for k := range int64(9) {
			res := make([]engine.Result, 1)
			got.Apply(at, []engine.Op{{Verb: engine.Look, Key: fmt.Append(nil, k)}}, res)
			if isIn := int(k/3) == number; (res[0].Status == engine.OK) != isIn || isIn && res[0].Remaining != 9-k {
				t.Errorf("part %d, key %d: %+v", number, k, res[0])
			}
		}
		if len(got.PolicyNames()) != 1 {
			t.Errorf("part %d has the policies %q", number, got.PolicyNames())
		}
		got.Close()
	}
	if !slices.Equal(written, []int{0, 1}) {
		t.Errorf("the parts %d are written", written)
	}
	p.Close()
	if _, _, err := p.Open(0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a part of parts that are closed: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A part that is not as it was written is refused, by its name and the difference, and the others are not.
func TestDamagedParts(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(path string, b []byte) error
		want   string
	}{
		"a bit": {func(path string, b []byte) error { b[len(b)-1] ^= 4; return os.WriteFile(path, b, 0o600) },
			"its checksum is "},
		"torn": {func(path string, b []byte) error { return os.WriteFile(path, b[:len(b)/2], 0o600) },
			"it has 128 bytes, and 256 were written"},
		"empty": {func(path string, _ []byte) error { return os.Truncate(path, 0) }, "it has 0 bytes, and "},
		"longer": {func(path string, b []byte) error { return os.WriteFile(path, append(b, 0), 0o600) },
			"it has 257 bytes, and 256 were written"},
		"another": {func(path string, _ []byte) error { return os.Rename(strings.Replace(path, "-1", "-0", 1), path) },
			"its checksum is "},
		"missing": {func(path string, _ []byte) error { return os.Remove(path) }, "it was removed"},
	} {
		dir := t.TempDir()
		p := New(dir, state(t), at, 2, byKey, nil)
		in, _, err := p.Open(1)
		if err == nil {
			err = in.Close()
		}
		b, readErr := os.ReadFile(path(dir, 1))
		if err = errors.Join(err, readErr); err == nil {
			err = c.damage(path(dir, 1), b)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := p.Open(1); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(),
			path(dir, 1)+" is damaged: "+c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if in, _, err = p.Open(0); name != "another" && err != nil {
			t.Errorf("%s: the other part: %v", name, err)
		} else if err == nil {
			in.Close()
		}
		p.Close()
	}
}

// A directory without room is an error that names the file, and passes once there is.
func TestPartsAreTriedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	p := New(dir, state(t), at, 2, byKey, nil)
	defer p.Close()
	if _, _, err := p.Open(1); err == nil || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path(dir, 0)) {
		t.Errorf("without a directory: %v", err)
	}
	if err := os.MkdirAll(path(dir, 1), 0o700); err != nil { // the second file cannot be made, after the first
		t.Fatal(err)
	}
	if _, _, err := p.Open(1); err == nil || errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path(dir, 1)) {
		t.Errorf("with a directory in its place: %v", err)
	}
	if err := os.Remove(path(dir, 1)); err != nil {
		t.Fatal(err)
	}
	in, _, err := p.Open(1)
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
}

// Close ends an Open that is writing.
func TestCloseWhileParts(t *testing.T) {
	dir := t.TempDir()
	closing, closed := make(chan struct{}), make(chan struct{})
	var p *Parts
	p = New(dir, state(t), at, 2, func(e keyspace.Entry) int {
		select {
		case <-closing:
		default:
			close(closing)
			go func() { p.Close(); close(closed) }()
			for !p.closed.Load() {
				runtime.Gosched()
			}
		}
		return byKey(e)
	}, nil)
	if _, _, err := p.Open(0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("%v", err)
	}
	<-closed
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

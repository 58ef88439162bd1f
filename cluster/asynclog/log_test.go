package asynclog

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// disk is a durable log that takes a second for each write, and can refuse it.
type disk struct {
	*raft.InmemStore
	fails  atomic.Bool
	writes atomic.Int32
}

var errDisk = errors.New("input/output error")

func (d *disk) StoreLogs(entries []*raft.Log) error {
	time.Sleep(time.Second)
	d.writes.Add(1)
	if d.fails.Load() {
		return errDisk
	}
	return d.InmemStore.StoreLogs(entries)
}

// start returns a log of a leader, until told otherwise, on a disk.
func start(t *testing.T) (l *Log, d *disk, leads *atomic.Bool) {
	t.Helper()
	d, leads = &disk{InmemStore: raft.NewInmemStore()}, &atomic.Bool{}
	leads.Store(true)
	l, err := New(d, leads.Load, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l, d, leads
}

func entries(kind raft.LogType, indexes ...uint64) (all []*raft.Log) {
	for _, i := range indexes {
		all = append(all, &raft.Log{Index: i, Term: 1, Type: kind, Data: fmt.Append(nil, i)})
	}
	return all
}

// store stores entries and returns how long that took.
func store(t *testing.T, l *Log, all []*raft.Log) time.Duration {
	t.Helper()
	began := time.Now()
	if err := l.StoreLogs(all); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}

// Commands of the leader are taken at once, and can be read, but are durable only when the disk has them.
func TestCommandsOfTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, d, _ := start(t)
		if took := store(t, l, entries(raft.LogCommand, 1, 2)); took > 0 {
			t.Errorf("it waited %v", took)
		}
		var e raft.Log
		if err := l.GetLog(2, &e); err != nil || string(e.Data) != "2" {
			t.Errorf("entry 2 is %q, %v", e.Data, err)
		}
		if err := l.GetLog(3, &e); !errors.Is(err, raft.ErrLogNotFound) {
			t.Errorf("entry 3: %v", err)
		}
		if last, _ := l.LastIndex(); last != 2 || l.Durable() != 0 {
			t.Errorf("the last entry is %d, the last durable one %d", last, l.Durable())
		}
		time.Sleep(500 * time.Millisecond)
		store(t, l, entries(raft.LogCommand, 3)) // while a write is under way
		store(t, l, entries(raft.LogCommand, 4))
		began := time.Now()
		if !l.AwaitDurable(2) || time.Since(began) != 500*time.Millisecond || l.Durable() != 2 {
			t.Errorf("%d durable after %v", l.Durable(), time.Since(began))
		}
		if !l.AwaitDurable(4) || time.Since(began) != 1500*time.Millisecond || d.writes.Load() != 2 {
			t.Errorf("%d durable after %v and %d writes", l.Durable(), time.Since(began), d.writes.Load())
		}
		if err := l.GetLog(4, &e); err != nil || string(e.Data) != "4" {
			t.Errorf("entry 4 is %q, %v", e.Data, err)
		}
	})
}

// Everything else is on the disk when StoreLogs returns, after all that was taken before.
func TestAllElseWaits(t *testing.T) {
	for _, kind := range []raft.LogType{raft.LogCommand, raft.LogNoop, raft.LogBarrier, raft.LogConfiguration} {
		synctest.Test(t, func(t *testing.T) {
			l, d, leads := start(t)
			store(t, l, entries(raft.LogCommand, 1))
			leads.Store(kind != raft.LogCommand)
			if took := store(t, l, entries(kind, 2)); took != 2*time.Second || l.Durable() != 2 {
				t.Errorf("type %v took %v; %d durable", kind, took, l.Durable())
			}
			if first, _ := d.FirstIndex(); first != 1 {
				t.Errorf("the log begins with entry %d", first)
			}
		})
	}
}

// The number of pending entries is bounded.
func TestMaxPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _, _ := start(t)
		for i := range uint64(maxPending) {
			if took := store(t, l, entries(raft.LogCommand, i+1)); took > 0 {
				t.Errorf("entry %d waited %v", i+1, took)
			}
		}
		if took := store(t, l, entries(raft.LogCommand, maxPending+1)); took == 0 || l.Durable() != maxPending+1 {
			t.Errorf("one more took %v; %d durable", took, l.Durable())
		}
	})
}

// Entries that the disk refuses stay in the log, and nothing follows it, until the disk takes it.
func TestRefusedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, d, leads := start(t)
		d.fails.Store(true)
		store(t, l, entries(raft.LogCommand, 1))
		time.Sleep(1500 * time.Millisecond)
		if !l.Fails() {
			t.Error("it does not say so")
		}
		if err := l.StoreLogs(entries(raft.LogCommand, 2)); !errors.Is(err, errDisk) {
			t.Errorf("the next entry: %v", err)
		}
		leads.Store(false)
		if err := l.Drain(); !errors.Is(err, errDisk) {
			t.Errorf("drained: %v", err)
		}
		if last, _ := l.LastIndex(); last != 1 || l.Durable() != 0 {
			t.Errorf("the last entry is %d, the last durable one %d", last, l.Durable())
		}
		d.fails.Store(false)
		if !l.AwaitDurable(1) || l.Fails() || l.Drain() != nil {
			t.Error("it fails on")
		}
		store(t, l, entries(raft.LogCommand, 2))
	})
}

// The end of the log is cut off once it is written; the beginning at any time.
func TestDeleteRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, d, leads := start(t)
		leads.Store(false)
		store(t, l, entries(raft.LogCommand, 1, 2, 3))
		leads.Store(true)
		store(t, l, entries(raft.LogCommand, 4, 5))
		began := time.Now()
		if err := l.DeleteRange(1, 2); err != nil || time.Since(began) > 0 {
			t.Errorf("the beginning: %v after %v", err, time.Since(began))
		}
		if err := l.DeleteRange(4, 5); err != nil || time.Since(began) != time.Second {
			t.Errorf("the end: %v after %v", err, time.Since(began))
		}
		if first, _ := d.FirstIndex(); first != 3 || l.Durable() != 3 {
			t.Errorf("the log begins with entry %d; %d durable", first, l.Durable())
		}
		if last, _ := l.LastIndex(); last != 3 {
			t.Errorf("the last entry is %d", last)
		}
	})
}

// A log that is stopped finishes the write under way and loses the rest. Nobody waits any longer.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, d, _ := start(t)
		store(t, l, entries(raft.LogCommand, 1))
		time.Sleep(500 * time.Millisecond)
		store(t, l, entries(raft.LogCommand, 2))
		waited := make(chan bool)
		go func() { waited <- l.AwaitDurable(2) }()
		drained := make(chan error)
		go func() { drained <- l.Drain() }()
		synctest.Wait()
		began := time.Now()
		l.Stop()
		if <-waited || <-drained == nil || time.Since(began) > 0 {
			t.Error("they went on, or waited")
		}
		l.Close()
		if last, _ := d.LastIndex(); last != 1 {
			t.Errorf("the disk has entries up to %d", last)
		}
		if err := l.StoreLogs(entries(raft.LogConfiguration, 3)); err == nil {
			t.Error("it takes more")
		}
	})
}

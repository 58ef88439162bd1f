package persistence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testdisk"
	"github.com/stintdb/stint/internal/testlog"
	"github.com/stintdb/stint/persistence/disk"
)

// running is a manager whose Run runs in a synctest bubble.
type running struct {
	disk    *testdisk.Disk
	store   *store.Store
	manager *Manager
	logs    *testlog.Log
	stop    func()
	count   int64
}

func run(t *testing.T, mode Mode) *running { return runOn(t, testdisk.Of(nil), mode) }

// runOn first recovers the state on a disk.
func runOn(t *testing.T, d *testdisk.Disk, mode Mode) *running {
	r := &running{disk: d, store: store.New(store.Config{Shards: 1}), logs: &testlog.Log{}}
	found, err := Recover(d, r.store, time.Now().UnixNano(), false, quiet)
	if err != nil {
		t.Fatal(err)
	}
	r.manager, err = NewManager(Options{FS: r.disk, Store: r.store, Mode: mode, Log: r.logs.Logger(),
		Clock: func() int64 { return time.Now().UnixNano() }, JournalBytes: 1 << 30}, found)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { r.manager.Run(ctx); close(ended) }()
	r.stop = func() { cancel(); <-ended }
	return r
}

func (r *running) breakDisk(fault func(op, name string) error) {
	defer r.disk.Lock()()
	r.disk.Fail = fault
}

// take takes a token and lets some time go by.
func (r *running) take(t *testing.T, pass time.Duration) {
	op := engine.Op{Key: []byte("k"), Limit: tokenLimits[0], Tokens: 1}
	res := make([]engine.Result, 1)
	if r.store.Apply(time.Now().UnixNano(), []engine.Op{op}, res); !res[0].Allowed {
		t.Fatal("decisions stopped")
	}
	r.count++
	time.Sleep(pass)
	synctest.Wait()
}

// refund gives back all that was taken.
func (r *running) refund() {
	r.store.Apply(time.Now().UnixNano(), []engine.Op{{Verb: engine.Refund, Key: []byte("k"), Tokens: r.count - 1}}, make([]engine.Result, 1))
	r.count = 1
	time.Sleep(FlushEvery)
	synctest.Wait()
}

// commit asks for everything to be made durable.
func (r *running) commit() error {
	done := make(chan error, 1)
	r.manager.Commit(func(err error) { done <- err })
	return <-done
}

// found is how many tokens are taken once a disk was recovered.
func found(t *testing.T, d *testdisk.Disk) int64 {
	t.Helper()
	s := store.New(store.Config{Shards: 1})
	defer s.Close()
	if _, err := Recover(d, s, time.Now().UnixNano(), false, quiet); err != nil {
		t.Fatal(err)
	}
	res := make([]engine.Result, 1)
	s.Apply(time.Now().UnixNano(), []engine.Op{{Verb: engine.Look, Key: []byte("k")}}, res)
	if res[0].Status != engine.OK {
		return 0
	}
	return res[0].Limit - res[0].Remaining
}

const (
	notKept   = "state cannot be written to disk"
	keptAgain = "state is written to disk again"
	noSave    = "could not write a snapshot"
)

// While a disk fails, decisions go on; that they are not kept shows, and is logged once when it begins and once when it
// ends; then everything is on disk, also what was decided meanwhile.
func TestDiskFailsAndRecovers(t *testing.T) {
	for i, fault := range faults[:6] {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := run(t, Interval)
				defer r.stop()
				r.take(t, 2*time.Second)
				r.breakDisk(fault)
				for range 8 {
					r.take(t, time.Second)
				}
				onlyNewFiles := i == 3 || i == 4 // renaming and directories do not matter to a journal
				if failed := r.manager.Err() != nil; failed == onlyNewFiles || !errors.Is(r.manager.Err(), r.manager.Status().Err) {
					t.Errorf("shown as %v, %v", r.manager.Err(), r.manager.Status().Err)
				}
				r.breakDisk(nil)
				r.take(t, 7*time.Second) // a snapshot that failed is tried again after 5 s
				if err := r.manager.Err(); err != nil {
					t.Errorf("still shown as failed: %v", err)
				}
				want := 1
				if onlyNewFiles {
					want = 0
				}
				if a, b := r.logs.Count(notKept), r.logs.Count(keptAgain); a != want || b != want {
					t.Errorf("logged %d and %d times: %s", a, b, r.logs)
				}
				if n := found(t, r.disk.LosePower()); n != r.count {
					t.Errorf("%d tokens were taken, %d are on disk", r.count, n)
				}
			})
		})
	}
}

// In the mode interval a change is with the kernel after 10 ms and durable after little more than a second.
func TestIntervalKeepsItsBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, Interval)
		defer r.stop()
		for range 50 {
			r.take(t, FlushEvery)
			if n := found(t, testdisk.Of(r.disk.Contents())); n != r.count {
				t.Fatalf("%d tokens were taken, %d are with the kernel", r.count, n)
			}
		}
		time.Sleep(SyncEvery + FlushEvery)
		synctest.Wait()
		if n := found(t, r.disk.LosePower()); n != r.count {
			t.Errorf("%d tokens were taken, %d are durable", r.count, n)
		}
	})
}

// It does not take longer on a disk that takes seconds for a sync, while journals end and snapshots are written: only
// durability comes later by that time.
func TestSlowDiskDelaysNoFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, Interval)
		defer r.stop()
		unlock := r.disk.Lock()
		r.disk.Syncs = 3 * time.Second
		unlock()
		saved := 0
		for i := range 3000 { // 30 s
			r.take(t, FlushEvery)
			if r.count > 90 {
				r.refund()
			}
			if i%10 == 0 {
				if n := found(t, testdisk.Of(r.disk.Contents())); n != r.count {
					t.Fatalf("after %d flushes %d tokens were taken, %d are with the kernel", i, r.count, n)
				}
			}
			if r.manager.SaveAlone() == nil {
				saved++
			}
		}
		if saved < 2 {
			t.Errorf("%d snapshots were written", saved)
		}
	})
}

// An explicit SAVE is answered once no older state in the journal could replace the snapshot's, although no flush
// waits.
func TestSaveIsDurable(t *testing.T) {
	for _, mode := range []Mode{Interval, Always, SnapshotOnly} {
		synctest.Test(t, func(t *testing.T) {
			r := run(t, mode)
			defer r.stop()
			unlock := r.disk.Lock()
			r.disk.Syncs = 300 * time.Millisecond
			unlock()
			for range 5 {
				r.take(t, 5*time.Millisecond)
				before := r.count
				done := r.manager.Save()
				r.take(t, 20*time.Millisecond)
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				if n := found(t, r.disk.LosePower()); n < before {
					t.Errorf("%s: %d tokens were taken before SAVE, %d are durable after it", mode, before, n)
				}
			}
		})
	}
}

// SAVE waits for a new snapshot; SaveAlone fails while one is being written.
func TestSaveWhileSaving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, Interval)
		defer r.stop()
		unlock := r.disk.Lock()
		r.disk.Syncs = time.Second
		unlock()
		if err := r.manager.SaveAlone(); err != nil {
			t.Fatal(err)
		}
		if err := r.manager.SaveAlone(); !errors.Is(err, ErrBusy) {
			t.Errorf("at once: %v", err)
		}
		r.take(t, 100*time.Millisecond)
		if err := r.manager.SaveAlone(); !errors.Is(err, ErrBusy) || !r.manager.Status().Saving {
			t.Errorf("while one is written: %v", err)
		}
		if err := <-r.manager.Save(); err != nil {
			t.Error(err)
		}
		if n := found(t, r.disk.LosePower()); n != 1 {
			t.Errorf("SAVE was answered with %d tokens on disk, of 1", n)
		}
		if err := r.manager.SaveAlone(); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

// A server that is stopped without a last snapshot keeps the changes in its journal; in the mode snapshot it keeps only
// the existing snapshots.
func TestStopWithoutSnapshot(t *testing.T) {
	for _, mode := range []Mode{Interval, Always, SnapshotOnly} {
		synctest.Test(t, func(t *testing.T) {
			r := run(t, mode)
			r.take(t, time.Millisecond)
			if err := <-r.manager.Save(); err != nil {
				t.Fatal(err)
			}
			number := r.manager.number
			r.take(t, time.Millisecond)
			r.manager.SkipLastSnapshot()
			r.stop()
			want := int64(2)
			if mode == SnapshotOnly {
				want = 1
			}
			if n := found(t, r.disk.LosePower()); n != want || r.manager.number != number {
				t.Errorf("%s: %d tokens are on disk, want %d", mode, n, want)
			}
		})
	}
}

// Servers that are killed again and again do not leave ever more journals.
func TestManyShortRuns(t *testing.T) {
	d := testdisk.Of(nil)
	for i := range 30 {
		s := store.New(store.Config{Shards: 1})
		found, err := Recover(d, s, someTime, false, quiet)
		if err != nil {
			t.Fatal(err)
		}
		m, err := NewManager(Options{FS: d, Store: s, Clock: func() int64 { return someTime }, Log: quiet, Mode: Interval, JournalBytes: 1 << 30}, found)
		if err != nil {
			t.Fatal(err)
		}
		s.Apply(someTime, []engine.Op{{Key: []byte("k"), Limit: tokenLimits[0], Tokens: 1}}, make([]engine.Result, 1))
		m.flush()
		if m.wantsSnapshot() {
			m.startSnapshot()
			m.finishSnapshot(<-m.snapshotDone)
		}
		s.Close()
		files, err := d.List()
		if err != nil || len(files) > maxJournals+3 {
			t.Fatalf("run %d: %d files, %v", i, len(files), err)
		}
		d = d.AfterKill()
	}
}

// In the mode always a commit fails while the disk does, succeeds once it works again, and then nothing is missing.
func TestAlwaysWhileTheDiskFails(t *testing.T) {
	for i, fault := range faults[:3] {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := run(t, Always)
				defer r.stop()
				r.take(t, 0)
				if err := r.commit(); err != nil {
					t.Fatal(err)
				}
				r.breakDisk(fault)
				r.take(t, 0)
				for range 3 {
					if err := r.commit(); err == nil || r.manager.Err() == nil {
						t.Errorf("%v is answered and %v shown while the disk fails", err, r.manager.Err())
					}
					time.Sleep(time.Second)
				}
				r.breakDisk(nil)
				time.Sleep(6 * time.Second)
				synctest.Wait()
				r.take(t, 0)
				if err := r.commit(); err != nil {
					t.Errorf("not mended: %v", err)
				}
				if n := found(t, r.disk.LosePower()); n != r.count {
					t.Errorf("%d tokens were taken, %d are on disk", r.count, n)
				}
			})
		})
	}
}

// On a full disk a server starts and behaves like one whose disk became full later: existing data stays, and decisions
// are written once there is room.
func TestStartOnAFullDisk(t *testing.T) {
	for _, mode := range []Mode{Interval, Always} {
		for _, full := range []string{"create", "write", "sync"} {
			t.Run(fmt.Sprint(mode, full), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					first := run(t, mode)
					first.take(t, 2*time.Second)
					first.stop()
					d := first.disk.LosePower()
					there := maps.Clone(d.Files) // the data in its place can be written again
					d.Fail = func(op, name string) error {
						if op == full && there[name] == nil {
							return testdisk.ErrFull
						}
						return nil
					}
					r := runOn(t, d, mode)
					defer r.stop()
					r.take(t, time.Second)
					if r.manager.Err() == nil || r.logs.Count(notKept) != 1 {
						t.Errorf("shown as %v; logged: %s", r.manager.Err(), r.logs)
					}
					if mode == Always && r.commit() == nil {
						t.Error("a commit succeeds on a full disk")
					}
					if n := found(t, r.disk.LosePower()); n < first.count {
						t.Errorf("%d of %d tokens are there if the power fails now", n, first.count)
					}
					r.breakDisk(nil)
					time.Sleep(7 * time.Second)
					synctest.Wait()
					if err := r.manager.Err(); err != nil {
						t.Errorf("still shown as failed: %v", err)
					}
					if n := found(t, r.disk.LosePower()); n != first.count+r.count {
						t.Errorf("%d tokens were taken, %d are on disk", first.count+r.count, n)
					}
				})
			})
		}
	}
}

// A large state is written as often as its size allows, and no later than that; nothing of it is missing when the
// server ends.
func TestLargeStatesAreWrittenSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, Interval)
		lease := func(holder int) {
			op := engine.Op{Key: []byte("big"), Tokens: 1, Who: fmt.Appendf(nil, "%0400d", holder),
				Limit: limits.Limit{Algorithm: limits.Concurrency, Capacity: limits.MaxHolders, Rate: limits.Rate{Period: int64(time.Hour)}}}
			res := make([]engine.Result, 1)
			if r.store.Apply(time.Now().UnixNano(), []engine.Op{op}, res); !res[0].Allowed {
				t.Fatalf("%+v", res[0])
			}
		}
		holders := func(d *testdisk.Disk) int64 {
			s := store.New(store.Config{Shards: 1})
			defer s.Close()
			if _, err := Recover(d, s, time.Now().UnixNano(), false, quiet); err != nil {
				t.Fatal(err)
			}
			res := make([]engine.Result, 1)
			s.Apply(time.Now().UnixNano(), []engine.Op{{Verb: engine.Leases, Key: []byte("big")}}, res)
			return int64(len(res[0].Leases))
		}
		count, stateBytes := 2000, int64(2000*410)
		for i := range count {
			lease(i)
		}
		time.Sleep(time.Second)
		began := r.manager.Status().Journaled
		const seconds = 2
		for range seconds * 200 {
			time.Sleep(5 * time.Millisecond)
			lease(count)
			count++
		}
		if wrote := r.manager.Status().Journaled - began; wrote > seconds*LargeBytesPerSecond+2*stateBytes || wrote < seconds*LargeBytesPerSecond/2 {
			t.Errorf("%d bytes in %d s", wrote, seconds)
		}
		late := time.Duration(time.Now().UnixNano() - r.manager.Status().FlushedUntil)
		if most := time.Duration(2*stateBytes)*time.Second/LargeBytesPerSecond + 2*FlushEvery; late > most {
			t.Errorf("the last flush that was complete was %v ago, and it may be %v", late, most)
		}
		if n := holders(testdisk.Of(r.disk.Contents())); n < int64(count)-40 || n > int64(count) {
			t.Errorf("%d of %d leases are there after a kill", n, count)
		}
		lease(count)
		count++
		done := r.manager.Save()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if n := holders(r.disk.LosePower()); n != int64(count) {
			t.Errorf("%d of %d leases are there after SAVE and a power loss", n, count)
		}
		lease(count)
		count++
		r.manager.SkipLastSnapshot()
		r.stop()
		if n := holders(r.disk.LosePower()); n != int64(count) {
			t.Errorf("%d of %d leases are there after the end", n, count)
		}
	})
}

// A commit after changes that a failure left pending is not answered before its change is durable.
func TestCommitAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, Always)
		defer r.stop()
		r.breakDisk(faults[0])
		r.take(t, 0)
		if r.commit() == nil {
			t.Error("no error")
		}
		r.take(t, 0)
		r.breakDisk(nil)
		time.Sleep(retryEvery - time.Millisecond)
		for range 20 {
			if r.commit() == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if n := found(t, r.disk.LosePower()); n != 2 {
			t.Errorf("2 tokens were taken, %d are on disk", n)
		}
	})
}

// A snapshot that cannot be written leaves the old files, is reported to waiting callers, logged once, and tried again.
func TestSnapshotFails(t *testing.T) {
	for _, mode := range []Mode{Interval, Always, SnapshotOnly} {
		synctest.Test(t, func(t *testing.T) {
			r := run(t, mode)
			r.take(t, 0)
			save := func() error {
				return <-r.manager.Save()
			}
			if err := save(); err != nil {
				t.Fatal(err)
			}
			r.breakDisk(faults[6])
			r.take(t, time.Second)
			if save() == nil {
				t.Error("SAVE succeeded on a full disk")
			}
			time.Sleep(30 * time.Second)
			synctest.Wait()
			if st := r.manager.Status(); st.LastSaveErr == nil || r.logs.Count(noSave) != 1 {
				t.Errorf("%s: shown as %v and logged %d times", mode, st.LastSaveErr, r.logs.Count(noSave))
			}
			want := r.count
			if mode == SnapshotOnly {
				want = 1
			}
			if n := found(t, testdisk.Of(r.disk.Contents())); n != want {
				t.Errorf("%s: %d tokens are on disk, want %d", mode, n, want)
			}
			r.breakDisk(nil)
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if err := r.manager.Status().LastSaveErr; err != nil {
				t.Errorf("%s: %v", mode, err)
			}
			r.take(t, 0)
			r.stop()
			if n := found(t, r.disk.LosePower()); n != r.count {
				t.Errorf("%s: stopped: %d tokens were taken, %d are on disk", mode, r.count, n)
			}
			names, _ := r.disk.List()
			for _, name := range names {
				if n, _ := disk.NumberOf(name); n < r.manager.number && !disk.IsManifest(name) || strings.HasSuffix(name, disk.TempSuffix) {
					t.Errorf("%s: %s is left behind", mode, name)
				}
			}
		})
	}
}

// A server that is stopped while its disk works again, but has not been tried since, loses nothing.
func TestStopAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := run(t, Interval)
		r.breakDisk(faults[1])
		r.take(t, time.Second)
		r.breakDisk(nil)
		r.stop()
		if n := found(t, r.disk.LosePower()); n != 1 {
			t.Errorf("%d tokens are on disk, want 1", n)
		}
	})
}

// A server that is stopped while its disk fails says that something is lost, and not that all is well again.
func TestStopDuringAFailure(t *testing.T) {
	for _, mode := range []Mode{Interval, Always, SnapshotOnly} {
		for i, fault := range faults[:3] {
			synctest.Test(t, func(t *testing.T) {
				r := run(t, mode)
				r.take(t, time.Second)
				r.breakDisk(fault)
				r.take(t, 5*time.Second)
				r.stop()
				if lost, again := r.logs.Count("and are lost"), r.logs.Count(keptAgain); lost != 1 || again != 0 {
					t.Errorf("%s, fault %d: logged %d and %d times: %s", mode, i, lost, again, r.logs)
				}
			})
		}
	}
}

// Tokens come back while the server is down as usual, but not while the clock is late.
func TestTimeSpentDown(t *testing.T) {
	limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 10, Rate: limits.Rate{Tokens: 1, Period: second}}
	s := store.New(store.Config{Shards: 1})
	defer s.Close()
	d, now := testdisk.Of(nil), someTime
	m, err := NewManager(Options{FS: d, Store: s, Clock: func() int64 { return now }, Log: quiet, Mode: Always, JournalBytes: 1 << 30}, Recovered{})
	if err != nil {
		t.Fatal(err)
	}
	s.Apply(now, []engine.Op{{Key: []byte("k"), Limit: limit, Tokens: 8}}, make([]engine.Result, 1))
	m.finish()
	for _, c := range []struct{ later, taken int64 }{{0, 8}, {3, 5}, {8, 0}, {100, 0}, {-1, 8}, {-3600, 8}} {
		again := store.New(store.Config{Shards: 1})
		start := now + c.later*second
		found, err := Recover(testdisk.Of(d.Contents()), again, start, false, quiet)
		if err != nil || found.Time != now {
			t.Fatalf("%v, %d", err, found.Time)
		}
		res := make([]engine.Result, 1)
		again.Apply(max(start, found.Time), []engine.Op{{Key: []byte("k"), Limit: limit, Tokens: 1, Options: engine.Peek}}, res)
		if got := 9 - res[0].Remaining; got != c.taken {
			t.Errorf("%d s later %d are taken, want %d", c.later, got, c.taken)
		}
		again.Close()
	}
}

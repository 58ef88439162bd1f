package raftnode

import (
	"bytes"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/asynclog"
	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/transport"
)

// receiving is a follower that notes what each message brings.
type receiving struct {
	transport.Messenger
	bytes []int
}

func (r *receiving) AppendEntries(id raft.ServerID, to raft.ServerAddress, args *raft.AppendEntriesRequest,
	resp *raft.AppendEntriesResponse) error {
	size := 0
	for _, e := range args.Entries {
		size += len(e.Data)
	}
	r.bytes = append(r.bytes, size)
	return agreeing{}.AppendEntries(id, to, args, resp)
}

func (r *receiving) InstallSnapshot(_ raft.ServerID, _ raft.ServerAddress, _ *raft.InstallSnapshotRequest,
	_ *raft.InstallSnapshotResponse, data io.Reader) error {
	b := make([]byte, 10*maxSliceBytes)
	for {
		n, err := data.Read(b)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		r.bytes = append(r.bytes, n)
	}
}

// sender is a leader that sends a follower what it lacks.
type sender struct {
	durableTransport
	*receiving
	needed  atomic.Bool
	latency time.Duration
}

// newSender returns a leader whose last entry, 1000, is not decided.
func newSender(t *testing.T) *sender {
	log, err := asynclog.New(raft.NewInmemStore(), func() bool { return false }, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(log.Close)
	if err := log.StoreLog(&raft.Log{Index: 1000}); err != nil {
		t.Fatal(err)
	}
	s := &sender{receiving: &receiving{}, latency: 10 * time.Millisecond}
	s.durableTransport = durableTransport{
		RaftTransport: &transport.RaftTransport{Messenger: s.receiving, Ctx: t.Context(),
			Now: func() (m clock.Moment) { return m }},
		log: log, leads: func(uint64) bool { return true }, isNeeded: func(raft.ServerID, uint64) bool { return s.needed.Load() },
		machine: &durableMachine{}, slices: NewSlices(), latency: func() time.Duration { return s.latency },
	}
	s.machine.note(999)
	return s
}

// sends sends old entries of a kibibyte each, and returns for how long the message kept its sender.
func (s *sender) sends(t *testing.T, commit uint64) time.Duration {
	began, m := time.Now(), raft.AppendEntriesRequest{Term: 1, LeaderCommitIndex: commit}
	for i := range maxEntries {
		m.Entries = append(m.Entries, &raft.Log{Index: uint64(i + 1), Data: make([]byte, 1<<10)})
	}
	if err := s.durableTransport.AppendEntries("b", "b", &m, &raft.AppendEntriesResponse{}); err != nil {
		t.Error(err)
	}
	return time.Since(began)
}

// A slice is followed by a turn for entries under way: until they have been applied, its sender sends no other. It
// does not wait while there are none, for entries that nobody decides, or where decisions wait for the follower.
func TestTurnAfterEachSlice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender(t)
		const turn = 30 * time.Millisecond
		time.AfterFunc(turn, func() { s.machine.note(1000) })
		if took := s.sends(t, 500); took != turn {
			t.Errorf("the next slice may go after %v, want %v: when the entry under way has been applied", took, turn)
		}
		if took := s.sends(t, 500); took != 0 {
			t.Errorf("without entries under way, the next slice may go after %v", took)
		}
		s.machine.note(999)
		if took := s.sends(t, 500); took != maxTurn {
			t.Errorf("with entries that nobody decides, the next slice may go after %v, want %v", took, maxTurn)
		}
		if took := s.sends(t, 100); took != 0 {
			t.Errorf("a follower that is nearly up to date gets the next entries after %v", took)
		}
		s.needed.Store(true)
		if took := s.sends(t, 500); took != 0 {
			t.Errorf("a follower that decisions wait for gets the next entries after %v", took)
		}
	})
}

// The groups of a machine send a node one slice at a time.
func TestOneSliceAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newSender(t), newSender(t)
		b.slices = a.slices
		go a.sends(t, 500)
		synctest.Wait()
		done := make(chan struct{})
		go func() { b.sends(t, 500); close(done) }()
		synctest.Wait()
		if len(a.bytes) != 1 || len(b.bytes) != 0 {
			t.Errorf("during a turn of one group, %d slices of another were sent", len(b.bytes))
		}
		a.machine.note(1000)
		synctest.Wait()
		if len(b.bytes) != 1 {
			t.Error("after the turn, the other group's slice was not sent")
		}
		b.machine.note(1000)
		<-done
	})
}

// While entries take longer than they did before, slices become smaller, down to a bound, and a snapshot goes in slices
// too.
func TestSlicesAdapt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender(t)
		s.machine.note(1000)
		s.sends(t, 500)
		s.latency *= 2
		for range 10 {
			s.sends(t, 500)
		}
		if first, last := s.bytes[0], s.bytes[len(s.bytes)-1]; first <= last || last > minSliceBytes {
			t.Errorf("slices of %d bytes: they do not become smaller while entries take twice as long", s.bytes)
		}
		s.bytes = nil
		err := s.durableTransport.InstallSnapshot("b", "b", &raft.InstallSnapshotRequest{}, &raft.InstallSnapshotResponse{},
			bytes.NewReader(make([]byte, maxSliceBytes)))
		if err != nil {
			t.Error(err)
		}
		if s.bytes[0] != minSliceBytes {
			t.Errorf("a slice of a snapshot has %d bytes, want %d", s.bytes[0], minSliceBytes)
		}
		s.latency /= 2
		for range 100 {
			s.sends(t, 500)
		}
		if last := s.bytes[len(s.bytes)-1]; last <= minSliceBytes {
			t.Errorf("slices of %d bytes do not grow while entries take no longer than before", last)
		}
	})
}

func (s *sender) isNeededNow() bool { return s.needed.Load() }

// A follower that becomes needed while its slice waits for another group's snapshot gets its entries at once.
func TestNeededWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender(t)
		other := s.slices.begin(t.Context(), "b", 0, s.isNeededNow)
		done := make(chan struct{})
		go func() { s.sends(t, 500); close(done) }()
		synctest.Wait()
		s.needed.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.bytes) != 1 {
			t.Error("a minute after the majority was lost, the follower has got nothing")
		}
		s.slices.end(other)
		<-done
	})
}

// A follower that becomes needed while it gets a snapshot gets the rest at once.
func TestNeededDuringSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSender(t)
		s.machine.note(1000)
		s.sends(t, 500)
		s.latency *= 2
		for range 10 {
			s.sends(t, 500)
		}
		s.machine.note(999) // no majority now: nothing is decided
		began := time.Now()
		time.AfterFunc(time.Second, func() { s.needed.Store(true) })
		const size = 64 << 20
		_ = s.durableTransport.InstallSnapshot("b", "b", &raft.InstallSnapshotRequest{}, &raft.InstallSnapshotResponse{}, bytes.NewReader(make([]byte, size)))
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("64 MiB take %v; the deadline is %v", took, MessageTimeout*size/(256<<10))
		}
	})
}

// A catch-up that begins before the first entry has been timed does not stay at the smallest slices.
func TestSlicesGrowAgain(t *testing.T) {
	for name, first := range map[string]time.Duration{"no entry yet": 0, "load rises": time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			s := newSender(t)
			s.machine.note(1000)
			s.latency = first
			s.sends(t, 500)
			s.latency = 2 * time.Millisecond // and stays
			for range 10_000 {
				s.sends(t, 500)
				time.Sleep(100 * time.Millisecond)
			}
			if last := s.bytes[len(s.bytes)-1]; last <= minSliceBytes {
				t.Errorf("%s: after 1,000 s slices have %d bytes", name, last)
			}
		})
	}
}

// The goroutines that read a snapshot rest for a bounded time together.
func TestRestsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, began := &restingSnapshot{ctx: t.Context()}, time.Now()
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for range 20 {
					s.Rest(time.Minute)
				}
			})
		}
		readers.Wait()
		if took := time.Since(began); took == 0 || took > maxRests/4+maxRest {
			t.Errorf("four readers rest for %v", took)
		}
	})
}

package persistence

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testdisk"
	"github.com/stintdb/stint/internal/testlog"
	"github.com/stintdb/stint/persistence/disk"
)

const second = int64(time.Second)

// world is a store and a keeper on a disk that may fail and lose power, driven step by step in one goroutine, and a
// record of every state each key has had.
type world struct {
	t       testing.TB
	rand    *rand.Rand
	seed    uint64
	mode    Mode
	disk    *testdisk.Disk
	store   *store.Store
	manager *Manager
	now     int64
	logs    testlog.Log

	seq      int // of the last state
	history  map[string][]version
	last     map[string]string
	policies map[string]string // as last shown, nil if they may have changed
	safe     int               // everything up to this one is durable
	flushed  int               // everything up to this one is in the kernel
	syncing  int               // everything up to this one will be durable once the sync in progress is done
	failing  int               // everything up to this one was flushed when the disk began to fail; 0 while it does not
	need     int               // the states that the next recovery may find
	acked    map[int]bool      // the changes acknowledged in the mode always
	inSave   bool
	gapped   bool // the keeper knows of a gap

	done struct{ acknowledged, refused, powerLost, killed, saved, cut, failures int }
}

// version is what became of a key at a time; "" is no state.
type version struct {
	seq   int
	state string
}

func newWorld(t testing.TB, seed uint64, mode Mode) *world {
	w := &world{t: t, seed: seed, mode: mode, rand: rand.New(rand.NewPCG(seed, 1)), now: 1_700_000_000 * second}
	w.disk = testdisk.New(w.rand)
	w.store = store.New(store.Config{Shards: 4, Commands: changeLists{}})
	w.history, w.last = map[string][]version{}, map[string]string{}
	return w
}

func (w *world) log() *slog.Logger { return w.logs.Logger() }

func (w *world) fatalf(format string, args ...any) {
	w.t.Helper()
	w.t.Fatalf("seed %d, mode %s: %s\n%s\n%s", w.seed, w.mode, fmt.Sprintf(format, args...), w.disk, w.logs.String())
}

// start recovers the state on the disk and continues to write. It returns false if the power failed in between.
func (w *world) start() bool {
	if w.store != nil {
		w.store.Close()
	}
	w.store = store.New(store.Config{Shards: 4, Commands: changeLists{}})
	found, err := Recover(w.disk, w.store, w.now, false, w.log())
	if w.disk.Off {
		return false
	}
	if err != nil {
		w.fatalf("recovering: %v", err)
	}
	w.policies = nil
	w.compare()
	w.done.cut += min(1, int(found.CutBytes))
	w.manager, err = NewManager(Options{FS: w.disk, Store: w.store, Clock: w.clock, Log: w.log(), Mode: w.mode, JournalBytes: 20_000}, found)
	if w.disk.Off {
		return false
	}
	if err != nil {
		w.fatalf("starting: %v", err)
	}
	// the recovered state becomes the expected one
	w.history, w.last = map[string][]version{}, map[string]string{}
	w.record()
	w.acked = map[int]bool{}
	w.flushed, w.safe, w.syncing, w.failing, w.gapped = 0, 0, 0, 0, false
	if w.mode != SnapshotOnly {
		w.safe, w.flushed = w.seq, w.seq // a journal was made after it
	}
	return true
}

// clock is the keeper's. While a snapshot is written, decisions go on between its readings.
func (w *world) clock() int64 {
	if w.inSave {
		w.inSave = false
		for range w.rand.IntN(4) {
			w.operate()
		}
		w.inSave = true
	}
	return w.now
}

// policyKey is the prefix of policies' names among the keys.
const policyKey = "policy "

// states shows every key's limit and state, and every policy.
func (w *world) states() map[string]string {
	all := make(map[string]string, len(w.last))
	var buf []byte
	for cursor := uint64(0); ; {
		// at time 0 no key has expired
		cursor = w.store.Scan(cursor, 1000, 0, func(e keyspace.Entry) {
			l := e.Limit
			buf = append(buf[:0], byte(l.Algorithm), byte(l.Span))
			for _, n := range []int64{l.Capacity, l.Least, l.Rate.Tokens, l.Rate.Period} {
				buf = binary.LittleEndian.AppendUint64(buf, uint64(n))
			}
			all[string(e.Key)] = string(append(buf, bytes.TrimRight(e.Whole().State, "\x00")...))
		})
		if cursor == 0 {
			break
		}
	}
	if w.policies == nil {
		w.policies = map[string]string{}
		for _, name := range w.store.PolicyNames() {
			p, _ := w.store.Policy(name)
			p.Granted, p.Denied, p.ShadowDenied = 0, 0, 0
			w.policies[policyKey+name] = fmt.Sprintf("%+v", p)
		}
	}
	maps.Copy(all, w.policies)
	return all
}

// holdsNothing reports whether a state shows nothing as taken at the present time.
func (w *world) holdsNothing(state string) bool {
	if state == "" {
		return true
	}
	if strings.HasPrefix(state, "{") {
		return false // a policy
	}
	word := func(at int) int64 { return int64(binary.LittleEndian.Uint64([]byte(state[at:]))) }
	e := keyspace.Entry{Key: []byte("k"), State: []byte(state[34:])}
	e.Limit = limits.Limit{Algorithm: limits.Algorithm(state[0]), Span: limits.Span(state[1]), Capacity: word(2), Least: word(10)}
	e.Limit.Rate = limits.Rate{Tokens: word(18), Period: word(26)}
	s := store.New(store.Config{Shards: 1})
	defer s.Close()
	return s.Load(w.now, e) == nil && s.Len() == 0
}

// record records the changes.
func (w *world) record() {
	w.seq++
	now := w.states()
	for key, state := range now {
		if w.last[key] != state || len(w.history[key]) == 0 {
			w.history[key] = append(w.history[key], version{w.seq, state})
		}
	}
	for key := range w.last {
		if _, there := now[key]; !there {
			w.history[key] = append(w.history[key], version{w.seq, ""})
		}
	}
	w.last = now
}

// compare fails the test unless every key is as it was at the last time that must be durable, or later.
func (w *world) compare() {
	w.t.Helper()
	got := w.states()
	for key := range got {
		if _, known := w.history[key]; !known {
			w.fatalf("%s was recovered as %s and never existed", key, got[key])
		}
	}
	for key, versions := range w.history {
		allowed, need := []string{}, w.need
		for _, v := range versions {
			if w.acked[v.seq] {
				need = max(need, v.seq)
			}
		}
		for i, v := range versions {
			if i+1 < len(versions) && versions[i+1].seq <= need {
				continue
			}
			if i == 0 && v.seq > need {
				allowed = append(allowed, "") // it may not have existed
			}
			allowed = append(allowed, v.state)
		}
		if !w.isAmong(got[key], allowed) {
			w.fatalf("%s was recovered as\n%x, none of\n%x\n(of %d versions, durable up to %d of %d)",
				key, got[key], allowed, len(versions), need, w.seq)
		}
	}
}

// isAmong reports whether a state is one of those allowed; none is as good as one that holds no information by now.
func (w *world) isAmong(state string, allowed []string) bool {
	for _, a := range allowed {
		if a == state || state == "" && w.holdsNothing(a) {
			return true
		}
	}
	return false
}

// operate decides a random operation, or refuses it as a server does that cannot keep it.
func (w *world) operate() {
	w.now += w.rand.Int64N(second / 20)
	op := randomOp(w.rand)
	if w.seed%2 == 0 && w.rand.IntN(3) == 0 {
		op = randomListOp(w.rand)
	}
	if w.mode == Always && w.manager.Err() != nil && op.Writes() {
		w.done.refused++
		return
	}
	if w.rand.IntN(30) == 0 {
		w.store.Sweep(w.now, 20)
	}
	w.store.Apply(w.now, []engine.Op{op}, make([]engine.Result, 1))
	if op.Verb >= engine.SetPolicy {
		w.policies = nil
	}
	w.record()
	if w.mode != Always {
		return
	}
	seq := w.seq
	w.manager.Commit(func(err error) {
		if err != nil {
			w.done.refused++
			return
		}
		w.done.acknowledged++
		w.acked[seq] = true
	})
}

var tokenLimits = []limits.Limit{
	{Algorithm: limits.GCRA, Capacity: 100, Rate: limits.Rate{Tokens: 1, Period: 3600 * second}},
	{Algorithm: limits.TokenBucket, Capacity: 20, Rate: limits.Rate{Tokens: 7, Period: second}},
	{Algorithm: limits.LeakyBucket, Capacity: 50, Rate: limits.Rate{Tokens: 3, Period: 60 * second}},
	{Algorithm: limits.LeakyQueue, Capacity: 5, Rate: limits.Rate{Tokens: 1000, Period: second}},
	{Algorithm: limits.FixedWindow, Capacity: 30, Rate: limits.Rate{Period: 10 * second}},
	{Algorithm: limits.FixedWindow, Capacity: 30, Span: limits.EachDay},
	{Algorithm: limits.SlidingWindow, Capacity: 30, Rate: limits.Rate{Period: 60 * second}},
	{Algorithm: limits.SlidingLog, Capacity: 30, Rate: limits.Rate{Period: 60 * second}},
	{Algorithm: limits.Concurrency, Capacity: 9, Rate: limits.Rate{Period: 30 * second}},
	{Algorithm: limits.FairShare, Capacity: 40, Rate: limits.Rate{Tokens: 3, Period: second}},
	{Algorithm: limits.Class, Capacity: 40, Rate: limits.Rate{Tokens: 3, Period: second}},
	{Algorithm: limits.Adaptive, Capacity: 40, Least: 1, Rate: limits.Rate{Tokens: 9, Period: second}},
}

func randomOp(r *rand.Rand) engine.Op {
	n := r.IntN(len(tokenLimits))
	op := engine.Op{
		Key: fmt.Appendf(nil, "%d-%d", n, r.IntN(4)), Limit: tokenLimits[n], Tokens: 1 + r.Int64N(4), Who: fmt.Appendf(nil, "who-%d", r.IntN(9)),
	}
	if op.Limit.Rate.Tokens > 0 && r.IntN(8) == 0 {
		op.Limit.Rate.Tokens *= 500
	}
	if op.Limit.Algorithm.Weighs() {
		op.Weight = r.Int64N(4)
	}
	part := []engine.Op{{Key: []byte("{}"), Limit: op.Limit, Who: []byte("{}"), Weight: op.Weight}}
	if op.Limit.Algorithm == limits.Class {
		part = randomTree(r, 1).Parts
	}
	if cost := r.Int64N(3); r.IntN(2) == 0 {
		for i := range part {
			part[i].Options, part[i].Tokens = engine.FixedCost, cost
		}
	}
	if r.IntN(2) == 0 && op.Limit.Algorithm.Keeps() {
		part[0].Keep = engine.Keep(r.Int64N(5) - 2)
	}
	name := fmt.Appendf(nil, "policy-%d", r.IntN(3))
	id := fmt.Appendf(nil, "id-%d", r.IntN(6))
	switch r.IntN(30) {
	case 13, 14:
		if op.Limit.Algorithm == limits.Adaptive {
			return engine.Op{Verb: engine.Adapt, Key: op.Key, Report: &engine.Report{Good: 1, Bad: r.Int64N(2), Every: second, Down: 80_000, Up: 5_000, Pause: r.Int64N(second)}}
		}
		return randomTree(r, op.Tokens)
	case 24, 25, 26:
		other := op
		other.Key = append([]byte("more-"), op.Key...)
		request := engine.Op{Verb: engine.AcquireAll, Tokens: op.Tokens, Parts: []engine.Op{op, other}}
		return engine.Op{Verb: engine.Reserve, Key: id, MaxWait: 1 + r.Int64N(30*second), Parts: []engine.Op{request}}
	case 27, 28, 29:
		return engine.Op{Verb: engine.Settle, Key: id, Tokens: r.Int64N(9), Options: engine.Cancel * engine.Option(r.IntN(2))}
	case 0:
		return engine.Op{Verb: engine.Delete, Key: op.Key}
	case 1, 2:
		return engine.Op{Verb: engine.Refund, Key: op.Key, Tokens: op.Tokens}
	case 3:
		return engine.Op{Verb: engine.Release, Key: op.Key, Who: op.Who}
	case 4:
		if r.IntN(12) == 0 {
			return engine.Op{Verb: engine.Flush}
		}
	case 5:
		return engine.Op{Verb: engine.SetPolicy, Key: name, Parts: part, Options: engine.Shadow * engine.Option(r.IntN(2))}
	case 6:
		return engine.Op{Verb: engine.SetOverride, Key: name, Who: op.Who, Parts: part[:len(part)*r.IntN(2)]}
	case 7:
		if r.IntN(3) == 0 {
			return engine.Op{Verb: engine.DropPolicy, Key: name}
		}
	case 8:
		return engine.Op{Verb: engine.Check, Key: name, Who: op.Key, Tokens: op.Tokens}
	case 9:
		other := op
		other.Key = append([]byte("more-"), op.Key...)
		return engine.Op{Verb: engine.AcquireAll, Parts: []engine.Op{op, other}}
	case 10:
		op.Options = engine.Force
	case 11:
		op.Options = engine.UpTo
	case 12:
		op.Options = engine.Peek
	}
	return op
}

// randomTree asks a class of a tree whose root is one of few.
func randomTree(r *rand.Rand, tokens int64) engine.Op {
	limit := limits.Limit{Algorithm: limits.Class, Capacity: 40, Rate: limits.Rate{Tokens: 3, Period: second}}
	op := engine.Op{Verb: engine.AcquireAll, Tokens: tokens, Parts: []engine.Op{
		{Key: fmt.Appendf(nil, "class-%d", r.IntN(9)), Limit: limit, Tokens: tokens, Who: engine.AppendAssured(nil, 1+r.Int64N(3), limit.Rate)},
		{Key: fmt.Appendf(nil, "root-%d", r.IntN(2)), Limit: limit, Tokens: tokens},
	}}
	return op
}

// flush is a tick of the manager, and records the changes that it has made durable.
func (w *world) flush() {
	m, seq := w.manager, w.seq
	if m.journal == nil {
		return
	}
	before := m.journal.syncing
	m.flush()
	j := m.journal
	if before != nil && j.syncing != before && !j.broken && m.gap == nil {
		w.safe = max(w.safe, w.syncing)
	}
	if j.syncing != before && j.syncing != nil {
		w.syncing = seq
	}
	w.awaitSync()
	if m.Err() == nil && w.mode != Always { // there, a refused change may be lost although later ones are kept
		w.flushed = seq
	}
	w.mind()
}

// awaitSync waits for a sync in progress, so that it is over at this point in every run.
func (w *world) awaitSync() {
	if j := w.manager.journal; j != nil && j.syncing != nil {
		j.syncing <- <-j.syncing // it has room for the one result
		w.disk.Lock()()
	}
}

// mind follows the keeper's word on whether all is well.
func (w *world) mind() {
	switch failing := w.manager.Err() != nil; {
	case failing && w.failing == 0:
		w.failing = max(1, w.flushed)
		w.done.failures++
	case !failing && w.failing != 0:
		if w.mode == Interval && w.gapped {
			w.safe = max(w.safe, w.failing) // nothing that had been flushed depends on a sync that failed
		}
		w.failing, w.gapped = 0, false
	}
	w.gapped = w.gapped || w.manager.gap != nil
}

// save writes a snapshot, with decisions in between.
func (w *world) save() {
	m, seq := w.manager, w.seq
	if w.rand.IntN(2) == 0 {
		m.Save()
	}
	w.inSave = true
	m.startSnapshot()
	if j := m.journal; m.snapshotDone != nil && j != nil && j.syncing != nil {
		w.syncing = seq // the first sync of a new journal
	}
	if m.snapshotDone == nil {
		w.inSave = false
		w.mind()
		return
	}
	s := <-m.snapshotDone
	w.inSave = false
	if w.rand.IntN(2) == 0 {
		w.operate()
	}
	if m.finishSnapshot(s); s.err == nil {
		w.safe, w.flushed = max(w.safe, seq), max(w.flushed, seq)
		w.done.saved++
	}
	w.awaitSync()
	w.mind()
}

// faults are the ways in which a disk fails.
var faults = []func(op, name string) error{
	func(op, _ string) error { return when(op == "write" || op == "create", testdisk.ErrFull) },
	func(op, _ string) error { return when(op == "write", testdisk.ErrIO) },
	func(op, _ string) error { return when(op == "sync", testdisk.ErrIO) },
	func(op, _ string) error { return when(op == "rename", testdisk.ErrIO) },
	func(op, _ string) error { return when(op == "syncdir", testdisk.ErrIO) },
	func(op, _ string) error { return when(op != "open" && op != "list", testdisk.ErrReadOnly) },
	func(op, name string) error {
		return when(op == "write" && strings.HasPrefix(name, disk.SnapshotPrefix), testdisk.ErrFull)
	},
	func(op, name string) error {
		return when(op == "sync" && strings.HasPrefix(name, disk.SnapshotPrefix), testdisk.ErrIO)
	},
}

func when(so bool, err error) error {
	if so {
		return err
	}
	return nil
}

// step does one random thing.
func (w *world) step() {
	switch n := w.rand.IntN(200); {
	case n < 50:
		w.flush()
	case n < 53:
		w.save()
	case n < 55:
		w.disk.Fail = faults[w.rand.IntN(len(faults))]
	case n < 62:
		w.disk.Fail = nil
	case n < 65:
		w.now += w.rand.Int64N(20 * second)
	case n < 67:
		w.manager.publish()
	default:
		w.operate()
	}
	if w.manager.wantsSnapshot() {
		w.save()
	}
}

// crash ends the process, with or without the machine.
func (w *world) crash() {
	m := w.manager
	if m.snapshotDone != nil {
		w.t.Fatal("the test left a snapshot behind")
	}
	if j := m.journal; j != nil && j.syncing != nil {
		<-j.syncing
	}
	if w.rand.IntN(3) == 0 {
		w.need = max(w.safe, w.flushed)
		w.disk = w.disk.AfterKill()
		w.done.killed++
		return
	}
	w.need = w.safe
	w.disk = w.disk.LosePower()
	w.done.powerLost++
}

// After any changes and a crash at any point, also during recovery, every key has the state of its last durable change
// or a later one: in the mode always, at least the last acknowledged change.
func TestNoDurableChangeIsLost(t *testing.T) {
	for _, mode := range []Mode{Interval, Always, SnapshotOnly} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			total := newWorld(t, 0, mode).done
			runs := append([]uint64(nil), failedBefore...)
			for i := range uint64(*testdisk.Seeds) {
				runs = append(runs, *testdisk.FirstSeed+i)
			}
			for _, seed := range runs {
				w := newWorld(t, seed, mode)
				w.play()
				d := w.done
				total.acknowledged += d.acknowledged
				total.refused += d.refused
				total.powerLost += d.powerLost
				total.killed += d.killed
				total.saved += d.saved
				total.cut += d.cut
				total.failures += d.failures
			}
			t.Logf("%+v", total)
			if total.powerLost < 10 || total.killed < 10 || total.saved < 10 || mode != SnapshotOnly && (total.cut < 10 || total.failures < 10) ||
				mode == Always && (total.acknowledged < 1000 || total.refused < 10) {
				t.Error("that is too little to show anything")
			}
		})
	}
}

// failedBefore are seeds that found something once.
var failedBefore = []uint64{900197}

func (w *world) play() {
	for range 8 {
		for !w.start() { // the power failed in between
			w.need = min(w.need, w.safe)
			w.disk = w.disk.LosePower()
			w.done.powerLost++
		}
		w.disk.PowerOff = 1 + w.rand.IntN(300)
		for range 400 {
			if w.step(); w.disk.Off {
				break
			}
		}
		w.crash()
		if w.now += w.rand.Int64N(second); w.rand.IntN(3) == 0 {
			w.now += w.rand.Int64N(1000 * second)
		}
		if w.rand.IntN(3) == 0 {
			w.disk.PowerOff = 1 + w.rand.IntN(12)
		}
	}
}

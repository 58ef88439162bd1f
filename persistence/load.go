package persistence

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/persistence/disk"
)

// loader reads the blocks of a snapshot on every core: a key is in it only once, so the order does not matter. Changes
// of policies are applied in order at the end.
type loader struct {
	r       *recovery
	jobs    chan blockJob
	workers sync.WaitGroup
	buffers sync.Pool // of []byte
	states  atomic.Int64

	mu       sync.Mutex
	err      error // of the first block that has one
	at       int64 // its offset
	policies []policyAt
	ends     int64 // number of states according to the last record, -1 before it is read
}

type blockJob struct {
	name    string
	offset  int64
	payload []byte
}

type policyAt struct {
	offset int64 // of the block
	op     engine.Op
}

func newLoader(r *recovery) *loader {
	l := &loader{r: r, jobs: make(chan blockJob, 2*runtime.GOMAXPROCS(0)), ends: -1}
	l.buffers.New = func() any { return []byte(nil) }
	for range runtime.GOMAXPROCS(0) {
		l.workers.Go(l.work)
	}
	return l
}

// add passes a payload to the workers.
func (l *loader) add(name string, offset int64, payload []byte) {
	now, _, _ := disk.PayloadHeader(payload)
	l.r.found.Time = max(l.r.found.Time, now)
	l.jobs <- blockJob{name, offset, append(l.buffers.Get().([]byte)[:0], payload...)}
}

// wait ends the workers and applies policies. It returns the error of the first block that failed.
func (l *loader) wait() error {
	close(l.jobs)
	l.workers.Wait()
	slices.SortStableFunc(l.policies, func(a, b policyAt) int { return int(a.offset - b.offset) })
	for i := range l.policies {
		l.r.store.Apply(l.r.now, []engine.Op{l.policies[i].op}, make([]engine.Result, 1))
	}
	l.r.found.Keys += l.states.Load()
	l.r.states += l.states.Load()
	return l.err
}

func (l *loader) work() {
	w := &loadWorker{loader: l}
	for job := range l.jobs {
		began := time.Now()
		w.offset, w.entries = job.offset, w.entries[:0]
		w.name = job.name
		err := w.dec.decode(job.payload, w)
		if loadErr := w.load(); err == nil {
			err = loadErr
		}
		if err != nil {
			l.failed(job, err)
		}
		l.buffers.Put(job.payload) //nolint:staticcheck // SA6002: a slice header is small beside a block
		if l.r.rest != nil {
			l.r.rest(time.Since(began))
		}
	}
	l.states.Add(w.states)
}

func (l *loader) failed(job blockJob, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil || job.offset < l.at {
		l.err, l.at = blockError(job.name, job.offset, err), job.offset
	}
}

// loadWorker is the handler of one goroutine.
type loadWorker struct {
	*loader
	dec     decoder
	name    string
	offset  int64
	states  int64
	entries []keyspace.Entry // of the block being decoded
}

// load puts the entries of the block into the store. If that fails, it tries them one by one.
func (w *loadWorker) load() error {
	err := w.r.store.LoadAll(w.r.now, w.entries)
	if !errors.Is(err, keyspace.ErrState) {
		return err
	}
	for _, e := range w.entries {
		c := keyspace.Change{Kind: keyspace.Changed, Entry: e}
		if err := w.refuse(recordError(c, w.r.store.Load(w.r.now, e))); err != nil {
			return err
		}
	}
	return nil
}

// refuse leaves out a record that cannot be applied if repair is set.
func (w *loadWorker) refuse(err error) error {
	refused, ok := errors.AsType[*RecordError](err)
	if !ok || !w.r.repair {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.r.skipRecord(w.name, w.offset, refused)
}

// change implements handler.
func (w *loadWorker) change(c keyspace.Change) error {
	switch c.Kind {
	case keyspace.Changed:
		w.states++
		w.entries = append(w.entries, c.Entry) // valid as long as the payload
		return nil
	case keyspace.PolicyChanged:
		if err := checkChange(c); err != nil {
			return w.refuse(err)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.policies = append(w.policies, policyAt{w.offset, c.Op.Clone()})
		return nil
	}
	return disk.ErrDamaged // a snapshot holds states, not changes
}

// end implements handler.
func (w *loadWorker) end(states int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends = states
	return nil
}

package persistence

import (
	"bytes"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine"
)

// loader reads the blocks of a snapshot on every core: a key is in it only once, so the order does not matter. What
// changes policies is put back in order at the end.
type loader struct {
	r       *recovery
	jobs    chan blockJob
	workers sync.WaitGroup
	spare   sync.Pool // of []byte
	states  atomic.Int64

	mu       sync.Mutex
	err      error // of the first block that has one
	at       int64 // its offset
	policies []policyAt
	ends     int64 // states that the last record tells of, -1 before it was seen
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
	l.spare.New = func() any { return []byte(nil) }
	for range runtime.GOMAXPROCS(0) {
		l.workers.Go(l.work)
	}
	return l
}

// add hands a payload to the workers.
func (l *loader) add(name string, offset int64, payload []byte) {
	now, _, _ := payloadHeader(payload)
	l.r.found.Time = max(l.r.found.Time, now)
	l.jobs <- blockJob{name, offset, append(l.spare.Get().([]byte)[:0], payload...)}
}

// wait ends the workers and applies policies. It returns the error of the first block that could not be taken in.
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
		w.offset, w.entries = job.offset, w.entries[:0]
		err := w.dec.decode(job.payload, w)
		if loadErr := l.r.store.LoadAll(l.r.now, w.entries); err == nil {
			err = loadErr
		}
		if err != nil {
			l.failed(job, err)
		}
		l.spare.Put(job.payload)
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
	offset  int64
	states  int64
	entries []engine.Entry // of the block being decoded
}

// change implements handler.
func (w *loadWorker) change(c engine.Change) error {
	switch c.Kind {
	case engine.Changed:
		w.states++
		w.entries = append(w.entries, c.Entry) // good for as long as the payload is
		return nil
	case engine.PolicyChanged:
		w.mu.Lock()
		defer w.mu.Unlock()
		w.policies = append(w.policies, policyAt{w.offset, copyOp(c.Op)})
		return nil
	}
	return ErrDamaged // a snapshot tells what is, not what became of it
}

// end implements handler.
func (w *loadWorker) end(states int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ends = states
	return nil
}

func copyOp(op *engine.Op) engine.Op {
	copied := *op
	copied.Key, copied.Who, copied.Parts = bytes.Clone(op.Key), bytes.Clone(op.Who), slices.Clone(op.Parts)
	for i := range copied.Parts {
		copied.Parts[i].Key, copied.Parts[i].Who = bytes.Clone(op.Parts[i].Key), bytes.Clone(op.Parts[i].Who)
	}
	return copied
}

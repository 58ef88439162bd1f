package decide

import (
	"context"
	"sync"
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/engine"
)

// maxVersionless bounds the batches that wait until this node knows the cluster's version; further ones are refused. A
// connection of a client has one batch at a time.
const maxVersionless = 10_000

// versionless are batches with operations of a newer format, which wait until this node knows the cluster's version.
type versionless struct {
	mu      sync.Mutex
	batches []versionlessBatch // in the order of their deadlines
	closed  bool
	looks   *clock.Task // nil before Start
}

type versionlessBatch struct {
	*engine.Batch
	until time.Duration // on the monotonic clock
}

// knowsVersion reports whether this node knows the cluster's version: one that has just joined or started does not know
// it yet.
func (d *Decider) knowsVersion() bool { return d.Machine.Cluster.Load().ClusterID != "" }

// waitForVersion puts off a batch until this node knows the cluster's version.
func (r *request) waitForVersion() outcome {
	if status := r.versionless.add(versionlessBatch{r.batch.Clone(), r.at.Mono + r.Timeout}); status != engine.OK {
		return r.reject(status)
	}
	return waits
}

func (v *versionless) add(b versionlessBatch) engine.Status {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch {
	case v.closed:
		return engine.NoLeader
	case len(v.batches) >= maxVersionless:
		return engine.Overloaded
	}
	v.batches = append(v.batches, b)
	v.look() // the version may just have become known
	return engine.OK
}

// look ends the pause of the task that decides the batches. The caller holds mu.
func (v *versionless) look() {
	if v.looks != nil {
		v.looks.Now()
	}
}

// NoteCluster is called with each new state of the cluster, which may make its version known.
func (d *Decider) NoteCluster() {
	v := &d.versionless
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.batches) > 0 {
		v.look()
	}
}

func (d *Decider) startVersionless(ctx context.Context, ended *sync.WaitGroup) {
	d.versionless.mu.Lock()
	defer d.versionless.mu.Unlock()
	d.versionless.looks = clock.Repeat(ctx, ended, d.decideVersionless)
}

// decideVersionless decides the batches that wait, if the version is known by now. Otherwise it refuses those whose
// time is over.
func (d *Decider) decideVersionless(context.Context) (pause time.Duration) {
	now, all := d.Clock.Mono(), d.knowsVersion()
	due, pause := d.versionless.take(func(b versionlessBatch) bool { return all || b.until <= now })
	for _, b := range due {
		r := d.begin(b.Batch, d.Leads())
		r.retried = true
		if r.decide() {
			b.Done()
		}
	}
	if pause != clock.Never {
		pause -= now
	}
	return pause
}

// take removes and returns the first batches, as far as isDue. next is the deadline of the first one left,
// [clock.Never] if there is none.
func (v *versionless) take(isDue func(versionlessBatch) bool) (due []versionlessBatch, next time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := 0
	for n < len(v.batches) && isDue(v.batches[n]) {
		n++
	}
	due, v.batches = v.batches[:n:n], v.batches[n:]
	if len(v.batches) == 0 {
		v.batches = nil
		return due, clock.Never
	}
	return due, v.batches[0].until
}

func (d *Decider) closeVersionless() {
	v := &d.versionless
	v.mu.Lock()
	left := v.batches
	v.batches, v.closed = nil, true
	v.mu.Unlock()
	for _, b := range left {
		for i := range b.Results {
			b.Results[i].Status, b.Results[i].Allowed = engine.NoLeader, false
		}
		d.CountFailure(engine.NoLeader)
		b.Done()
	}
}

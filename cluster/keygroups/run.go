package keygroups

import (
	"context"
	"sync"
	"time"

	"github.com/stintdb/stint/cluster/clock"
)

// Run starts the periodic tasks of the groups, which go on until ctx ends: they spread leaders and replicas over the
// nodes, and name groups without a leader in this node's log.
func (k *Groups) Run(ctx context.Context, ended *sync.WaitGroup) {
	every := k.opt.Common.MeetEvery
	l := &leaderless{keys: k, statuses: k.statuses, log: k.log, since: map[int]time.Time{}}
	clock.Every(ctx, ended, every, l.step)
	if k.opt.Common.Groups > 1 {
		b := &balancer{keys: k, log: k.log}
		clock.Every(ctx, ended, every, func(ctx context.Context) { b.step(ctx, time.Now()) })
		if k.opt.Common.Replicas > 0 {
			p := &placer{keys: k, statuses: k.statuses, log: k.log}
			clock.Every(ctx, ended, every, p.step)
		}
	}
}

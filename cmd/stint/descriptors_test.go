package main

import (
	"testing"

	"github.com/stintdb/stint/server/config"
)

// The parts never exceed the limit, and the limit in the error is enough for a cluster of seven.
func TestDivideDescriptors(t *testing.T) {
	for _, nodes := range []int{0, 3, 7} {
		for limit := 64; limit <= 1<<20; limit *= 2 {
			cfg := config.Default()
			cfg.Loops = 4
			if nodes > 0 {
				cfg.ClusterListen, cfg.ClusterPeers = "127.0.0.1:7001", make([]string, nodes)
			}
			d := divide(limit, &cfg)
			used := d.clients + 2*d.accepting + leavingClients + d.admin*5/4 + 2*d.unauthenticated + ownDescriptors
			if d.clients > 0 && used > limit {
				t.Errorf("%d nodes, limit %d: %+v", nodes, limit, d)
			}
			if limit >= leastOpenFiles && d.clients < leastClients {
				t.Errorf("%d nodes: a limit of %d is refused", nodes, limit)
			}
			if nodes == 0 && limit >= 16384 && d.clients < cfg.MaxClients {
				t.Errorf("a limit of %d lowers the default", limit)
			}
		}
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/stintdb/stint/engine/slot"
)

// spreadWithin bounds the time until leaders are spread over the nodes again.
const spreadWithin = time.Minute

// lives reports whether the process of a node runs.
func (i *Instance) lives(number int) bool {
	select {
	case <-i.processes[number].ended:
		return false
	default:
		return true
	}
}

// living is the address of a node that runs.
func (i *Instance) living() string {
	for number := range i.Nodes {
		if i.lives(number) {
			return i.Nodes[number]
		}
	}
	return i.Addr
}

// leadsOf has the node that leads each group by the knowledge of one that runs, -1 where it knows none.
func leadsOf(inst *Instance, groups int) ([]int, error) {
	r, err := ask(inst.living(), "CLUSTER", "NODES")
	if err != nil {
		return nil, err
	}
	return parseLeads(r.text, inst.Nodes, groups), nil
}

// parseLeads reads the leads from lines of CLUSTER NODES, in which the ranges of slots come after eight other words.
func parseLeads(text string, addresses []string, groups int) []int {
	leads := make([]int, groups)
	for i := range leads {
		leads[i] = -1
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		for number, address := range addresses {
			if len(fields) < 8 || !strings.HasPrefix(fields[1], address+"@") {
				continue
			}
			for _, slots := range fields[8:] {
				first, _, _ := strings.Cut(slots, "-")
				if n, err := strconv.Atoi(first); err == nil && n < slot.Count {
					leads[slot.GroupOf(n, groups)-1] = number
				}
			}
		}
	}
	return leads
}

// spreadOf is how many groups the running node leads that leads most, less that of the one that leads fewest; all
// reports that each group has one.
func spreadOf(inst *Instance, leads []int) (spread int, all bool) {
	counts := make([]int, len(inst.Nodes))
	all = true
	for _, number := range leads {
		if all = all && number >= 0 && inst.lives(number); number >= 0 {
			counts[number]++
		}
	}
	most, fewest := 0, len(leads)
	for number, n := range counts {
		if inst.lives(number) {
			most, fewest = max(most, n), min(fewest, n)
		}
	}
	return most - fewest, all
}

// awaitSpread waits until all groups have leaders, and the node that leads the most groups leads no more than most
// groups more than the node that leads the fewest. It gives up after a fixed time. It returns the difference between
// the two nodes, and how long it waited.
func awaitSpread(ctx context.Context, inst *Instance, groups, most int) (spread int, took time.Duration, err error) {
	began, all := time.Now(), false
	for ; ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
		var leads []int
		leads, err = leadsOf(inst, groups)
		took = time.Since(began)
		if err == nil {
			if spread, all = spreadOf(inst, leads); all && spread <= most {
				return spread, took, nil
			}
		}
		if took > spreadWithin {
			break
		}
	}
	if err == nil && !all {
		err = fmt.Errorf("a group of %d is not led by a node that runs", groups)
	}
	return spread, took, errors.Join(err, ctx.Err())
}

// awaitHealthy waits until a node says that it leads, or has all that its leaders have.
func awaitHealthy(ctx context.Context, address string) error {
	return await(ctx, spreadWithin, "a node to be healthy", func() bool {
		healthy, err := infoNumber(address, "cluster", "raft_healthy")
		return err == nil && healthy == 1
	})
}

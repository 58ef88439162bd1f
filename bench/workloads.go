package main

import (
	"cmp"
	"fmt"
	"strings"
)

// randomKeys is the number of keys of the "many keys" workload.
const randomKeys = 100_000

// randomSuffix is the text that redis-benchmark replaces by 12 random digits. With a tag of three letters and a colon
// in front, keys are 16 bytes long.
const randomSuffix = "__rand_int__"

// A Limit is written into a command template as {burst}, {count} and
// {period} (redis-cell's words) or as {capacity} and {rate} (Stint's).
type Limit struct {
	Burst         int64 // tokens beyond the first that can be taken at once
	Count         int64 // tokens given back per period
	PeriodSeconds int64
}

// A Workload is one load, the same for every server that takes a key.
//
// Whether a request is granted must not depend on how fast a server is: with
// a common limit such as 15 30 60, the faster server would answer mostly
// denials and the slower mostly grants, which are different work. So every
// request of a workload is granted, or every one after the first denied.
type Workload struct {
	Name      string
	Title     string
	Limit     Limit
	KeySuffix func(round, pipeline int) string
	Granted   bool // whether a request in the middle of the load must be granted

	Connections int  // 0: as many as connections says
	Everywhere  bool // the connections are to all nodes, not only to the leader
}

// connections is the number of connections of the load.
func (w Workload) connections() int { return cmp.Or(w.Connections, connections) }

// The workloads. Commands without a key (PING) run only in the first.
var (
	manyKeys = Workload{
		Name: "many", Title: "100k random keys, granted", Limit: Limit{Burst: 1_000_000, Count: 30, PeriodSeconds: 60},
		KeySuffix: func(int, int) string { return randomSuffix }, Granted: true,
	}
	hotKey = Workload{
		Name: "hot", Title: "one hot key, granted", Limit: Limit{Burst: 100_000_000, Count: 30, PeriodSeconds: 60},
		// A new key for every cell, so that even the fastest server does not reach the limit.
		KeySuffix: func(round, pipeline int) string { return fmt.Sprintf("hot-%03d-%04d", round, pipeline) }, Granted: true,
	}
	deniedKey = Workload{
		Name: "denied", Title: "one exhausted key, all denied", Limit: oncePerDay, KeySuffix: func(int, int) string { return "denied-00000" },
	}

	// crowd is the first workload from many more connections.
	crowd = Workload{
		Name: "crowd", Title: "200 connections, 100k random keys, granted", Connections: slowConnections,
		Limit: manyKeys.Limit, KeySuffix: manyKeys.KeySuffix, Granted: true,
	}
	// hotEverywhere is one hot key, from clients at all nodes.
	hotEverywhere = Workload{
		Name: "everywhere", Title: "one hot key at all nodes, granted", Limit: hotKey.Limit, KeySuffix: hotKey.KeySuffix, Granted: true, Everywhere: true,
	}
	// underQuarter is many keys that stay under a quarter of their limits, and the limits are full again within 10 s.
	underQuarter = Workload{
		Name: "quarter", Title: "100k random keys under a quarter of their limits", Limit: Limit{Burst: 4_999, Count: 1_000, PeriodSeconds: 1},
		KeySuffix: manyKeys.KeySuffix, Granted: true,
	}
)

// workloads are the workloads of the first tables.
var workloads = []Workload{manyKeys, hotKey, deniedKey}

// A Cell is a workload with a pipeline.
type Cell struct {
	Workload
	pipeline int
}

// ID names a cell in figures and targets: "many P=16".
func (c Cell) ID() string { return c.Name + pipelineID(c.pipeline) }

func pipelineID(pipeline int) string { return fmt.Sprintf(" P=%d", pipeline) }

// Title names it for people.
func (c Cell) Title() string { return fmt.Sprintf("%s, P=%d", c.Workload.Title, c.pipeline) }

// cellsOf are the cells of workloads with several pipelines.
func cellsOf(pipelines []int, workloads ...Workload) (cells []Cell) {
	for _, w := range workloads {
		for _, p := range pipelines {
			cells = append(cells, Cell{w, p})
		}
	}
	return cells
}

// oncePerDay keeps a key alive for a day after one request: denials for the
// workload above, and entries that outlive the loading in memory.go.
var oncePerDay = Limit{Burst: 0, Count: 1, PeriodSeconds: 86400}

// pipelines and connections are the other two dimensions of the load.
var pipelines = []int{1, 16, 64}

const connections = 50

// expand fills a command template and splits it into arguments.
func expand(template, key string, limit Limit) []string {
	return strings.Fields(strings.NewReplacer(
		"{key}", key,
		"{burst}", fmt.Sprint(limit.Burst),
		"{count}", fmt.Sprint(limit.Count),
		"{period}", fmt.Sprint(limit.PeriodSeconds),
		"{capacity}", fmt.Sprint(limit.Burst+1),
		"{rate}", fmt.Sprintf("%d/%ds", limit.Count, limit.PeriodSeconds),
	).Replace(template))
}

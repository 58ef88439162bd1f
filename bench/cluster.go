package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A ClusterReport has the figures of three nodes on this machine, each with its log on disk.
type ClusterReport struct {
	Series  []Series
	Results Results
	Steady  []steadyLatency // one a round
	Slow    []float64       // requests per second while every fsync takes slowFsync longer; empty: strace is missing
}

// crowd is the first workload from many more connections.
var crowd = Workload{
	Name: "crowd", Title: "200 connections, 100k random keys, granted", Connections: slowConnections,
	Limit: workloads[0].Limit, KeySuffix: workloads[0].KeySuffix, Granted: true,
}

// clusterCells are the workloads and pipelines measured, and the servers that a target compares.
var clusterCells = []struct {
	Workload
	pipeline int
}{{workloads[0], 1}, {workloads[0], 16}, {crowd, 1}, {workloads[2], 16}}

// The series that targets about the cluster compare, by Series.ID.
const (
	clusterThrottle = "stint-cluster CL.THROTTLE"
	slowFsync       = 5 * time.Millisecond
	slowConnections = 200
	slowPipeline    = 16
)

// clusterServers is the table of servers: three nodes, and one Redis and one Stint in memory to compare them with.
func clusterServers(binary string) []Server {
	all := besideCluster(binary)
	return append(all, Server{
		Name: "stint-cluster", Title: "Stint, three nodes,", Start: startNodes(binary, nodeSetup{}),
		Commands: all[1].Commands,
	})
}

// nodes is the size of the cluster.
const nodes = 3

// A nodeSetup says how nodes differ from nodes with their defaults, which decide in the log alone here.
type nodeSetup struct {
	before  []string      // the prefix of each command line
	options []string      // more of it
	delay   time.Duration // of each message between two nodes
}

// startNodes runs a cluster and returns it with the address of its leader.
func startNodes(binary string, setup nodeSetup) func(context.Context, string, []string) (*Instance, error) {
	return inDataDir(func(ctx context.Context, name, dir string, env []string) (*Instance, error) {
		path, err := filepath.Abs(binary)
		if err != nil {
			return nil, err
		}
		var inner, peers [nodes]string
		inst := &Instance{}
		for i := range nodes {
			port, err := reservePort()
			if err != nil {
				inst.Stop()
				return nil, err
			}
			inner[i] = "127.0.0.1:" + port
			peers[i] = inner[i]
			if setup.delay > 0 {
				link, err := startSlowLink(inner[i], setup.delay)
				if err != nil {
					inst.Stop()
					return nil, err
				}
				inst.links, peers[i] = append(inst.links, link), link.address()
			}
		}
		for i := range nodes {
			id := fmt.Sprint("node-", i)
			p, err := startProcess(ctx, fmt.Sprint(name, "-", id), env, slices.Concat(setup.before, []string{path, "server", "--node-id", id,
				"--listen", "127.0.0.1:0", "--admin", "", "--cluster-listen", inner[i], "--cluster-advertise", peers[i],
				"--cluster-peers", strings.Join(peers[:], ","), "--bootstrap-expect", fmt.Sprint(nodes), "--dir", filepath.Join(dir, id), "--cluster-ahead", "0"}, setup.options)...)
			if err != nil {
				inst.Stop()
				return nil, err
			}
			inst.processes = append(inst.processes, p)
			inst.Nodes = append(inst.Nodes, p.log.listening()[""])
		}
		if inst.Addr, err = leaderOf(ctx, inst.Nodes); err != nil {
			inst.Stop()
			return nil, err
		}
		return inst, nil
	})
}

// leaderOf waits until one of the nodes leads.
func leaderOf(ctx context.Context, addresses []string) (string, error) {
	for end := time.Now().Add(readyTimeout); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(50 * time.Millisecond) {
		for _, address := range addresses {
			if info, err := ask(address, "INFO", "replication"); err == nil && strings.Contains(info.text, "role:master\r\n") {
				return address, nil
			}
		}
	}
	return "", errors.Join(errors.New("no node leads"), ctx.Err())
}

// measureCluster measures throughput side by side, then the cluster's latency at half of its throughput, and its
// throughput on a slow disk.
func measureCluster(ctx context.Context, binary string, settings Settings) (*ClusterReport, error) {
	servers := clusterServers(binary)
	c := &ClusterReport{Series: seriesOf(servers), Results: Results{}}
	instances, stop, err := startAll(ctx, servers)
	if err != nil {
		return nil, err
	}
	defer stop()
	r := rounder{instances: instances, cell: settings.Cell, results: c.Results}
	for round := range settings.Rounds {
		for _, cell := range clusterCells {
			fmt.Fprintf(os.Stderr, "round %d/%d: three nodes, %s, pipeline %d\n", round+1, settings.Rounds, cell.Title, cell.pipeline)
			for _, s := range c.Series {
				if err := r.measure(ctx, s, cell.Workload, cell.pipeline, round); err != nil {
					return nil, fmt.Errorf("%s, %s, pipeline %d: %w", s.Title(), cell.Title, cell.pipeline, err)
				}
			}
		}
	}
	half := c.Results.median(throughput, Cell{clusterThrottle, workloads[0].Name, 1}) / 2
	for round := range settings.Rounds {
		fmt.Fprintf(os.Stderr, "round %d/%d: three nodes at %.0f requests a second\n", round+1, settings.Rounds, half)
		args := expand(throttleTemplate, "sty:{key}", workloads[0].Limit)
		sample, err := steadyPlan{[]string{instances["stint-cluster"].Addr}, connections, 1, randomKeys, half, settings.Cell, args}.latency(ctx)
		if err != nil {
			return nil, err
		}
		c.Steady = append(c.Steady, sample)
	}
	stop()
	return c, c.measureSlow(ctx, binary, settings)
}

// measureSlow has strace delay every fsync of all nodes, like a slow disk.
func (c *ClusterReport) measureSlow(ctx context.Context, binary string, settings Settings) error {
	if _, err := exec.LookPath("strace"); err != nil {
		fmt.Fprintln(os.Stderr, "slow disk: not measured, because strace is not installed")
		return nil
	}
	delay := fmt.Sprintf("inject=fsync,fdatasync:delay_exit=%d", slowFsync.Microseconds())
	trace := []string{"strace", "-f", "--seccomp-bpf", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", delay}
	inst, err := startNodes(binary, nodeSetup{before: trace})(ctx, "stint-slow", nil)
	if err != nil {
		return err
	}
	defer inst.Stop()
	args := expand(throttleTemplate, "slw:"+randomSuffix, workloads[0].Limit)
	perSecond := 20_000.0
	for round := range settings.Rounds + 1 { // the first one only measures the speed
		fmt.Fprintf(os.Stderr, "round %d/%d: three nodes, every fsync takes %s longer\n", round, settings.Rounds, slowFsync)
		sample, err := drive(ctx, inst, slowConnections, slowPipeline, requestsFor(perSecond, settings.Cell, slowConnections, slowPipeline), args)
		if err != nil {
			return diagnose(inst, err)
		}
		if perSecond = sample.PerSecond; round > 0 {
			c.Slow = append(c.Slow, perSecond)
		}
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

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

// findLeader notes the leader of a cluster, which may be another one than at the start.
func findLeader(ctx context.Context, inst *Instance) (err error) {
	if len(inst.Nodes) > 0 {
		inst.Addr, err = leaderOf(ctx, inst.Nodes)
	}
	return err
}

// patient has options for -quick, which is for busy machines too: a wait for the CPU causes no elections.
func patient(e Env) []string {
	if !e.Quick {
		return nil
	}
	return []string{"--cluster-heartbeat", "1s", "--decide-timeout", "20s"}
}

// aheadServer is nodes that decide ahead of the log.
func aheadServer(e Env, name, title string, setup nodeSetup) Server {
	setup.options = append([]string{"--cluster-ahead", "1s"}, patient(e)...)
	return Server{Name: name, Title: title, Start: startNodes(e.binary, setup), Commands: serverTable(e.binary)[1].Commands[:1]}
}

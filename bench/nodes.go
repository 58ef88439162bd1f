package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// nodes is the size of a cluster, unless it is named.
const nodes = 3

// A nodeSetup says how nodes differ from nodes with their defaults, which decide in the log alone here.
type nodeSetup struct {
	nodes   int           // 0: three
	before  []string      // the prefix of each command line
	options []string      // more of it
	delay   time.Duration // of each message between two nodes
	metrics bool          // nodes have an address for /metrics
}

// startNodes runs a cluster and returns it with the address of its leader.
func startNodes(binary string, setup nodeSetup) func(context.Context, string, []string) (*Instance, error) {
	return inDataDir(func(ctx context.Context, name, dir string, env []string) (*Instance, error) {
		path, err := filepath.Abs(binary)
		if err != nil {
			return nil, err
		}
		inst := &Instance{}
		var clients, inner, peers []string
		place := func() error {
			port, err := reservePort()
			own, err2 := reservePort()
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			address := "127.0.0.1:" + own
			clients, inner, peers = append(clients, "127.0.0.1:"+port), append(inner, address), append(peers, address)
			if setup.delay > 0 {
				link, err := startSlowLink(address, setup.delay)
				if err != nil {
					return err
				}
				inst.links, peers[len(peers)-1] = append(inst.links, link), link.address()
			}
			return nil
		}
		founders := cmp.Or(setup.nodes, nodes)
		for range founders {
			if err := place(); err != nil {
				inst.Stop()
				return nil, err
			}
		}
		admin := ""
		if setup.metrics {
			admin = "127.0.0.1:0"
		}
		inst.launch = func(ctx context.Context, i int) (*process, error) {
			if i == len(inner) {
				if err := place(); err != nil {
					return nil, err
				}
			}
			id, known := nodeName(i), peers[:founders:founders]
			if i >= founders {
				known = append(known, peers[i])
			}
			return startProcess(ctx, fmt.Sprint(name, "-", id), env, slices.Concat(setup.before, []string{path, "server", "--node-id", id,
				"--listen", clients[i], "--admin", admin, "--cluster-listen", inner[i], "--cluster-advertise", peers[i],
				"--cluster-peers", strings.Join(known, ","), "--bootstrap-expect", fmt.Sprint(founders), "--dir", filepath.Join(dir, id), "--cluster-ahead", "0"}, setup.options)...)
		}
		for i := range founders {
			if err := inst.startNode(ctx, i); err != nil {
				inst.Stop()
				return nil, err
			}
		}
		if inst.Addr, err = leaderOf(ctx, inst.Nodes); err != nil {
			inst.Stop()
			return nil, err
		}
		return inst, nil
	})
}

// nodeName is the id of a node.
func nodeName(i int) string { return fmt.Sprint("node-", i) }

// startNode starts a node of a cluster: one more, which joins, or one whose process has ended.
func (i *Instance) startNode(ctx context.Context, number int) error {
	p, err := i.launch(ctx, number)
	if err != nil {
		return err
	}
	if number == len(i.processes) {
		i.processes, i.Nodes = append(i.processes, nil), append(i.Nodes, "")
	}
	i.processes[number], i.Nodes[number] = p, p.log.listening()[""]
	return nil
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

package cluster

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/stintdb/stint/cluster/keygroups"
)

// fault is something that goes wrong and is mended again. It returns what mends it.
type fault struct {
	name   string
	strike func(w *world) (mend func())
}

var faults = []fault{
	{"kill", func(w *world) func() {
		name := w.some()
		w.kill(name)
		return func() { w.start(name) }
	}},
	{"power loss", func(w *world) func() {
		name := w.some()
		w.disks[name].SetDelay(time.Duration(w.r.IntN(60)) * time.Millisecond)
		time.Sleep(time.Duration(w.r.IntN(300)) * time.Millisecond)
		w.crash(name)
		return func() { w.start(name) }
	}},
	{"power loss of a leader whose last entries only just a majority has", func(w *world) func() {
		w.whole()
		name := w.leader().opt.Node
		others := w.others(w.nodes[name])
		have, lack := others[:len(others)/2], others[len(others)/2:]
		for _, n := range lack {
			w.net.SetCut(name, n.opt.Node, true)
		}
		w.disks[name].hang() // until it loses power
		time.Sleep(time.Duration(w.r.IntN(200)) * time.Millisecond)
		cutOff := func(cut bool) {
			for _, n := range have {
				w.cut(n.opt.Node, true, true, cut)
			}
		}
		cutOff(true)
		w.crash(name)
		cutOff(true) // from that one again
		w.start(name)
		time.Sleep(2 * time.Second)
		return func() { cutOff(false) }
	}},
	{"stop in order", func(w *world) func() {
		name := w.some()
		_ = w.nodes[name].HandOver(w.t.Context())
		w.kill(name)
		return func() { w.start(name) }
	}},
	{"pause", func(w *world) func() {
		name := w.some()
		w.cut(name, true, true, true)
		release := w.disks[name].hang()
		return func() { release(); w.cut(name, true, true, false) }
	}},
	{"partition", func(w *world) func() {
		name := w.some()
		w.cut(name, true, true, true)
		return func() { w.cut(name, true, true, false) }
	}},
	{"deaf", func(w *world) func() {
		name := w.some()
		w.cut(name, true, false, true)
		return func() { w.cut(name, true, false, false) }
	}},
	{"mute", func(w *world) func() {
		name := w.some()
		w.cut(name, false, true, true)
		return func() { w.cut(name, false, true, false) }
	}},
	{"slow disk", func(w *world) func() {
		d := w.disks[w.some()]
		d.SetDelay(time.Duration(20+w.r.IntN(300)) * time.Millisecond)
		return func() { d.SetDelay(0) }
	}},
	{"hanging disk", func(w *world) func() { return w.disks[w.some()].hang() }},
	{"clock", func(w *world) func() {
		w.setSkew(w.some(), time.Duration(w.r.Int64N(int64(2*time.Hour)))-time.Hour)
		return func() {}
	}},
	{"machine rebooted with a wrong clock", func(w *world) func() {
		time.Sleep(3 * time.Second) // one at a time: the others have heard the time
		name := w.some()
		w.kill(name)
		w.reboot(name)
		w.setSkew(name, time.Hour)
		return func() { w.start(name) }
	}},
	{"delay", func(w *world) func() {
		name, d := w.some(), time.Duration(1+w.r.IntN(80))*time.Millisecond
		for _, other := range w.names {
			w.net.SetDelay(name, other, d)
			w.net.SetDelay(other, name, d/2)
		}
		return func() {
			for _, other := range w.names {
				w.net.SetDelay(name, other, 0)
				w.net.SetDelay(other, name, 0)
			}
		}
	}},
	{"swizzle", func(w *world) func() {
		order := w.r.Perm(len(w.names))
		for _, i := range order {
			w.cut(w.names[i], true, true, true)
			time.Sleep(time.Duration(w.r.IntN(200)) * time.Millisecond)
		}
		return func() {
			for _, i := range w.r.Perm(len(w.names)) {
				w.cut(w.names[i], true, true, false)
				time.Sleep(time.Duration(w.r.IntN(200)) * time.Millisecond)
			}
		}
	}},
	{"transfer", func(w *world) func() {
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
		defer cancel()
		groups := w.nodes[w.some()].groups()
		_ = groups[w.r.IntN(len(groups))].Transfer(ctx, "")
		return func() {}
	}},
	{"transfer and cut", func(w *world) func() {
		name := w.leader().opt.Node
		go w.nodes[name].HandOver(w.t.Context())
		time.Sleep(time.Duration(w.r.IntN(3)) * time.Millisecond)
		w.cut(name, true, true, true)
		return func() { w.cut(name, true, true, false) }
	}},
	{"snapshot and behind", func(w *world) func() {
		name := w.some()
		w.kill(name)
		time.Sleep(300 * time.Millisecond)
		for _, other := range w.names {
			if n := w.nodes[other]; n != nil {
				_ = n.Snapshot(context.Background())
			}
		}
		return func() { w.start(name) }
	}},
	{"wiped", func(w *world) func() {
		w.whole()
		name := w.some()
		w.kill(name)
		w.disks[name] = newMemDisk(w.disks[name].run + 1)
		return func() { w.start(name) }
	}},
	{"all at once", func(w *world) func() {
		for _, name := range w.names {
			w.kill(name)
		}
		return func() {
			for _, i := range w.r.Perm(len(w.names)) {
				w.start(w.names[i])
			}
		}
	}},
	{"removed and added", func(w *world) func() {
		w.whole()
		name, leader := w.names[w.r.IntN(len(w.names))], w.leader()
		ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
		defer cancel()
		if name == leader.opt.Node {
			return func() {}
		}
		_ = leader.Remove(ctx, name) // after an error it may be a member still, and then has only lost its disk
		w.kill(name)
		w.disks[name] = newMemDisk(w.disks[name].run + 1)
		return func() { w.start(name) }
	}},
	{"joined", func(w *world) func() {
		w.whole()
		if !slices.Contains(w.names, joiner) {
			w.join()
		}
		return func() {}
	}},
	{"left", func(w *world) func() {
		w.whole()
		if slices.Contains(w.names, joiner) {
			w.leave()
		}
		return func() {}
	}},
	{"nonvoter", func(w *world) func() {
		w.whole()
		name, isWiped := w.names[w.r.IntN(len(w.names))], w.r.IntN(2) == 0
		ctx, cancel := context.WithTimeout(w.t.Context(), 5*time.Second)
		defer cancel()
		err := w.leader().Add(ctx, name, name, false)
		time.Sleep(time.Duration(w.r.IntN(3000)) * time.Millisecond)
		if isWiped {
			w.kill(name)
			w.disks[name] = newMemDisk(w.disks[name].run + 1)
			w.start(name)
		}
		return func() {
			leader := w.leader()
			if err == nil && keygroups.Votes(leader.first)[w.nodes[name].id] {
				w.t.Errorf("the nonvoter %s votes", w.nodes[name].id)
			}
			for leader.Add(w.t.Context(), name, name, true) != nil { // it may not answer yet, or another node lead
				time.Sleep(100 * time.Millisecond)
				leader = w.leader()
			}
		}
	}},
}

// joiner is one node more than those that formed the cluster.
const joiner = "joiner"

func (w *world) join() {
	w.expect = cmp.Or(w.expect, len(w.names))
	if w.disks[joiner] != nil {
		w.disks[joiner] = newMemDisk(w.disks[joiner].run + 1)
	}
	w.setNames(append(slices.Clone(w.names), joiner))
	w.start(joiner)
}

// leave removes the joiner, which runs until its replicas have begun elsewhere.
func (w *world) leave() {
	for leader := w.leader(); leader.opt.Node == joiner || leader.Remove(w.t.Context(), joiner) != nil; leader = w.leader() {
		if leader.opt.Node == joiner {
			_ = leader.HandOver(w.t.Context())
		}
		time.Sleep(100 * time.Millisecond)
	}
	if w.replicas > 0 {
		w.awaitPlaced(w.groups, w.replicas)
	}
	w.setNames(slices.DeleteFunc(slices.Clone(w.names), func(name string) bool { return name == joiner }))
	w.kill(joiner)
}

// setNames is for names that clients read.
func (w *world) setNames(names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names = names
}

// some returns a node's name, most often the leader's.
func (w *world) some() string {
	if w.r.IntN(4) > 0 {
		return w.leader().opt.Node
	}
	return w.names[w.r.IntN(len(w.names))]
}

func (w *world) kill(name string) {
	w.mu.Lock()
	n := w.nodes[name]
	delete(w.nodes, name)
	w.mu.Unlock()
	if n != nil {
		w.hot.voided.Add(n.Group().Status().VoidedTokens)
		w.end(n)
	}
}

// crash ends a node as a loss of power does: what its disk had not finished writing is gone.
func (w *world) crash(name string) {
	w.cut(name, true, true, true)
	restore := w.disks[name].losePower()
	w.kill(name)
	restore()
	w.disks[name].SetDelay(0)
	w.cut(name, true, true, false)
}

func (w *world) stop() {
	for _, name := range w.names {
		w.kill(name)
	}
}

func (w *world) start(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.simulated.start(name)
}

// cut cuts or mends all links of a node, to it, from it or both.
func (w *world) cut(name string, to, from, cut bool) {
	for _, other := range w.names {
		if to {
			w.net.SetCut(other, name, cut)
		}
		if from {
			w.net.SetCut(name, other, cut)
		}
	}
}

package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/config"
)

// table is one that connections enter, and that a command of another connection concerns.
type table struct {
	name    string
	before  string   // a command of the other connection, "" for none
	enter   []string // commands of each connection
	command string   // of the other
	told    string   // to each connection in the end, "" for nothing
	first   string   // to one of them alone
	wakes   int      // connections that the command may wake at once; 0 for as many as a pass serves
	pass    bool     // time passes first, until all waits are over
}

// turnsInAPass is how many connections that one event concerns have a turn in a pass of an event loop.
const turnsInAPass = 16

var tables = []table{
	{name: "broadcasting trackers", enter: []string{"HELLO 3", "CLIENT TRACKING ON BCAST"}, command: "SET k v", told: "$1\r\nk\r\n"},
	{name: "broadcasting trackers without NOLOOP", enter: []string{"HELLO 3", "CLIENT TRACKING ON BCAST NOLOOP"}, command: "SET k v", told: "$1\r\nk\r\n"},
	{name: "readers of a key", enter: []string{"HELLO 3", "CLIENT TRACKING ON", "GET k"}, command: "SET k v", told: "$1\r\nk\r\n"},
	{name: "all keys", enter: []string{"HELLO 3", "CLIENT TRACKING ON"}, command: "FLUSHALL", told: "invalidate"},
	{name: "subscribers", enter: []string{"SUBSCRIBE c"}, command: "PUBLISH c text", told: "text"},
	{name: "waiters for a key", enter: []string{"BLPOP k 0"}, command: "RPUSH k e", first: "$1\r\ne\r\n", wakes: 1},
	{name: "waiters for many keys", enter: []string{"BLPOP " + manyKeys(100) + " 0"}, command: "RPUSH k7 e", first: "$1\r\ne\r\n", wakes: 1},
	{name: "waits that end together", enter: []string{"BLPOP " + manyKeys(10) + " 1"}, command: "PING", told: "*-1\r\n", pass: true},
	{name: "waits for a place that end together", before: "CC.ACQUIRE k 1 2h a", enter: []string{"CC.ACQUIRE k 1 1h b BLOCK 10m"}, command: "PING", told: ":0\r\n", pass: true},
	{name: "watchers", enter: []string{"WATCH k"}, command: "SET k v", wakes: 1},
	{name: "blocked replies", before: "LB.QUEUE k 100000 1000/s", enter: []string{"LB.QUEUE k 100000 1000/s BLOCK 1h"}, command: "LB.QUEUE k 100000 1000/s", pass: true, told: ":"},
}

func manyKeys(n int) string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprint("k", i)
	}
	return strings.Join(keys, " ")
}

// tablePlayer has a table with many connections.
type tablePlayer struct {
	*sessionPlayer
	in    []*pipe
	other *pipe
}

func newTablePlayer(t *testing.T, of *table, connections int) *tablePlayer {
	p := &tablePlayer{sessionPlayer: newSessionPlayer(t, 0, func(c *config.Config) { c.MaxClients = 20_000 })}
	p.other = p.open("other")
	if of.before != "" {
		p.other.traffic(frames(of.before))
	}
	for i := range connections {
		c := p.open(fmt.Sprint(i))
		for _, command := range of.enter {
			c.traffic(frames(command))
		}
		p.in = append(p.in, c)
	}
	p.serveAll() // a client that waits looks a second time
	for _, c := range p.in {
		c.sent.Reset()
	}
	return p
}

// woken counts the connections of the table that have asked for a turn.
func (p *tablePlayer) woken() (n int) {
	for _, c := range p.in {
		if c.woken.Load() {
			n++
		}
	}
	return n
}

// serveAll serves the connections that are woken, pass by pass, and returns the largest number of turns in one pass.
func (p *tablePlayer) serveAll() (most int) {
	for {
		var woken []*pipe
		for _, c := range p.in {
			if c.woken.Swap(false) {
				woken = append(woken, c)
			}
		}
		if len(woken) == 0 {
			return most
		}
		most = max(most, len(woken))
		for _, c := range woken {
			c.traffic(nil)
		}
	}
}

// A command costs the same however many connections it concerns, and so does a pass of the event loop: few of them have
// a turn in it. In the end, all of them have been told.
func TestFullTables(t *testing.T) {
	const few, many = 50, 2000
	for _, of := range tables {
		t.Run(of.name, func(t *testing.T) {
			allocations := map[int]float64{}
			for _, connections := range []int{few, many} {
				p := newTablePlayer(t, &of, connections)
				if of.pass {
					p.clock.Advance(1e12)
					p.env.WaitQueue.Fire()
				}
				allocations[connections] = testing.AllocsPerRun(1, func() { p.other.traffic(frames(of.command)) }) // and once before
				if n, most := p.woken(), max(of.wakes*2, turnsInAPass*min(1, 1-of.wakes)); n > most {
					t.Errorf("%s wakes %d of %d connections, at most %d may be", of.command, n, connections, most)
				}
				if most := p.serveAll(); most > turnsInAPass {
					t.Errorf("%d of %d connections have a turn in one pass", most, connections)
				}
				p.told(t, &of)
			}
			if allocations[many] > allocations[few]+20 {
				t.Errorf("%v allocations with %d connections, %v with %d", allocations[many], many, allocations[few], few)
			}
		})
	}
}

// told checks that the connections were sent what is due to them.
func (p *tablePlayer) told(t *testing.T, of *table) {
	all, first := 0, 0
	for _, c := range p.in {
		got := c.sent.String()
		if of.told == "" && of.first == "" && got != "" {
			t.Fatalf("a connection is sent %q", got)
		}
		if strings.Contains(got, of.told) {
			all++
		}
		if strings.Contains(got, of.first) {
			first++
		}
	}
	if of.told != "" && all != len(p.in) {
		t.Errorf("%d of %d connections are sent %q", all, len(p.in), of.told)
	}
	if of.first != "" && first != 2 { // the command is given twice
		t.Errorf("%d connections are sent %q, want 2", first, of.first)
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stintdb/stint/server/command"
)

// TestCurrent checks the tables and the pictures in the handbook.
func TestCurrent(t *testing.T) {
	const docs = ".."
	text, err := os.ReadFile(filepath.Join(docs, page))
	if err != nil {
		t.Fatal(err)
	}
	want, err := updated(text)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(text, want) {
		t.Errorf("docs/%s is out of date: run go run ./docs/comparison", page)
	}
	all, err := pictures(docs)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		drawn, err := os.ReadFile(filepath.Join(docs, p.name))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(drawn, p.drawn) {
			t.Errorf("docs/%s is out of date: run go run ./docs/comparison", p.name)
		}
	}
}

// TestCommands checks that each contender runs the command in its row.
func TestCommands(t *testing.T) {
	for _, c := range contenders {
		r := command.Request{Args: bytes.Fields([]byte(c.command)), Bounds: command.Bounds{MaxKeyBytes: 100, MaxLogLimit: 1000}}
		row, err := command.Find(r.Args)
		if err == nil {
			err = row.Parse(&r)
		}
		if err != nil {
			t.Fatal(err)
		}
		if op := r.Ops[0]; op.Limit != c.op.Limit || op.MaxWait != c.op.MaxWait || op.Options != c.op.Options || op.Tokens != 1 {
			t.Errorf("%s asks for %+v, the program for %+v", c.command, op, c.op)
		}
	}
}

// TestClaims checks the claims of the page beside the tables.
func TestClaims(t *testing.T) {
	of := map[string][2]outcome{}
	for _, c := range contenders {
		of[c.name] = [2]outcome{run(c, burst), run(c, sustained)}
	}
	for name, o := range of {
		smooths := name == "leaky bucket as a queue"
		most := 200
		if name == "fair share, one member" {
			most = 187 // eight ninths, and the refill meanwhile
		}
		if o[0].accepted != most || (o[0].before(100*time.Millisecond) == most) == smooths {
			t.Errorf("%s: of the burst %d were accepted, %d let through at once", name, o[0].accepted, o[0].before(100*time.Millisecond))
		}
	}
	for _, same := range [][2]string{{"token bucket", "GCRA"}, {"token bucket", "leaky bucket as a meter"}} {
		for i := range 2 {
			a, b := of[same[0]][i], of[same[1]][i]
			if a.accepted != b.accepted || len(a.through) != len(b.through) || a.delayed+b.delayed != 0 {
				t.Errorf("%s and %s differ", same[0], same[1])
			}
		}
	}
	queue := of["leaky bucket as a queue"][1].through
	for i := range len(queue) - 1 {
		if gap := queue[i+1] - queue[i]; gap < 10*ms {
			t.Errorf("the queue lets two requests out %d ns apart", gap)
		}
	}
	if most := measure(randomTraffics[len(randomTraffics)-1]).most; most != 2*estimateLimit-1 {
		t.Errorf("the counter grants %d of %d within a window at worst", most, estimateLimit)
	}
	for _, random := range randomTraffics {
		if e := measure(random); e.requests < 90_000 || e.granted > e.requests {
			t.Errorf("%s: %d requests, %d granted", random.name, e.requests, e.granted)
		}
	}
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/opcodec"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence"
	"github.com/stintdb/stint/persistence/disk"
	parsing "github.com/stintdb/stint/server/command"
	datacommands "github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

// roundTrip applies the commands in a client's bytes like a single server, and passes them through every codec of
// operations and states: the log entry, which is also the form of forwarded operations, the results that come back, the
// journal, the snapshot, and the state that one replica sends another. It fails if a codec refuses an applied
// operation, or if its output differs. It returns the number of commands applied.
func roundTrip(t *testing.T, in []byte) (carriedOut int) {
	t.Helper()
	alone, replica := newStore(), newStore()
	defer alone.Close()
	defer replica.Close()
	alone.Track(true)
	reader := resp.Reader{Limits: resp.Limits{MaxArgs: 1024, MaxBulk: 64 << 10, MaxInline: 64 << 10}}
	request := parsing.Request{}
	request.SetBounds(parsing.Bounds{MaxKeyBytes: 4 << 10, MaxLogLimit: 100})
	now := int64(1_700_000_000 * time.Second)
	for len(in) > 0 && carriedOut < 1000 {
		args, length, err := reader.Next(in)
		if err != nil || length == 0 {
			break
		}
		in = in[length:]
		if len(args) == 0 {
			continue
		}
		row, err := parsing.Find(args)
		if err != nil || row.Parse == nil {
			continue
		}
		request.Args, request.Ops, request.Hold = args, nil, false
		request.Reset()
		if row.Parse(&request) != nil {
			continue
		}
		now += int64(time.Millisecond) / 3
		throughLog(t, now, args, request.Ops, alone, replica)
		carriedOut++
	}
	want := alone.Digest(now)
	if replica.Digest(now) != want {
		t.Fatal("a replica that read the log has another state")
	}
	throughState(t, now, alone, want)
	throughFiles(t, now, alone, want)
	return carriedOut
}

func newStore() *store.Store {
	return store.New(store.Config{Shards: 4, Replicated: true, Commands: &datacommands.Executor{}})
}

// throughLog applies a command to a store, and the operation decoded from its log entry to another.
func throughLog(t *testing.T, now int64, args [][]byte, ops []engine.Op, alone, replica *store.Store) {
	t.Helper()
	var w opcodec.Writer
	var entry, again []byte
	for i := range ops {
		entry = w.Append(entry, &ops[i])
	}
	if w.Err() != nil {
		t.Fatalf("%.200q is let in, and cannot be written to a log: %+v", args, ops)
	}
	read := make([]engine.Op, len(ops))
	var r opcodec.Reader
	r.Reset(entry)
	for i := range read {
		if err := r.Next(&read[i]); err != nil {
			t.Fatalf("%.200q is written to a log, and cannot be read: %v: %+v", args, err, ops[i])
		}
	}
	w.Reset()
	for i := range read {
		again = w.Append(again, &read[i])
	}
	if !bytes.Equal(entry, again) || r.More() {
		t.Fatalf("%.200q is read from a log as something else: %+v", args, read)
	}
	results, others := make([]engine.Result, len(ops)), make([]engine.Result, len(ops))
	alone.Apply(now, ops, results)
	replica.Apply(now, read, others)
	for i := range results {
		answer := opcodec.AppendResult(nil, &results[i])
		var forwarded engine.Result
		if rest, err := opcodec.ReadResult(answer, &forwarded); err != nil || len(rest) > 0 || !bytes.Equal(opcodec.AppendResult(nil, &forwarded), answer) {
			t.Fatalf("%.200q: the result is forwarded as %+v, not %+v: %v", args, forwarded, results[i], err)
		}
		if ops[i].Verb != engine.Look && !bytes.Equal(opcodec.AppendResult(nil, &others[i]), answer) { // a look reports memory
			t.Fatalf("%.200q: a replica decides %+v, not %+v", args, others[i], results[i])
		}
	}
}

// throughState takes a store to another replica.
func throughState(t *testing.T, now int64, from *store.Store, want [32]byte) {
	t.Helper()
	var state bytes.Buffer
	frozen := from.Snapshot()
	_, _, err := persistence.WriteState(&state, frozen, now)
	frozen.Release()
	to := newStore()
	defer to.Close()
	if err == nil {
		_, _, err = persistence.ReadState(&state, to, now)
	}
	if err != nil || to.Digest(now) != want {
		t.Fatalf("another replica does not take over the state as it is: %v", err)
	}
}

// throughFiles writes the changes to a journal, then all state to a snapshot, and starts with each.
func throughFiles(t *testing.T, now int64, from *store.Store, want [32]byte) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	for _, snapshot := range []bool{false, true} {
		files := newMemoryFiles()
		keeper, err := persistence.NewManager(persistence.Options{FS: files, Store: from, Clock: func() int64 { return now }, Log: quiet,
			Mode: persistence.Interval, JournalBytes: 1 << 30}, persistence.Recovered{})
		if err != nil {
			t.Fatal(err)
		}
		if !snapshot {
			keeper.SkipLastSnapshot()
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		keeper.Run(ctx)
		to := newStore()
		defer to.Close()
		found, err := persistence.Recover(files, to, now, false, quiet)
		if err != nil || to.Digest(now) != want || (found.Snapshot != "") != snapshot {
			t.Fatalf("with a snapshot %t, a start does not take over the state as it is: %+v, %v", snapshot, found, err)
		}
		names, _ := files.List()
		for _, name := range slices.DeleteFunc(names, disk.IsManifest) {
			if report, err := persistence.Inspect(files, name, func(persistence.Record) error { return nil }); err != nil || !report.Whole() {
				t.Fatalf("%s is inspected as %+v, %v", name, report, err)
			}
		}
	}
}

// asBytes encodes commands, one a line, in RESP.
func asBytes(lines string) (b []byte) {
	for line := range strings.Lines(lines) {
		words := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		b = fmt.Appendf(b, "*%d\r\n", len(words))
		for _, word := range words {
			b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(word), word)
		}
	}
	return b
}

// anyRate is a rate as people and programs write it, and beyond.
func anyRate(r *rand.Rand) string {
	text := strconv.FormatFloat(math.Pow(10, r.Float64()*26-13), 'f', r.IntN(24), 64)
	switch r.IntN(4) {
	case 0:
		text = []string{"99999.99999999", "33333.33333333", "35714.28571429", "1428571.428571", "14285714.285714285", "1000000.000001", "0.5/3650d"}[r.IntN(7)]
	case 1:
		text = strconv.FormatInt(r.Int64()>>r.IntN(60), 10)
	}
	switch r.IntN(3) {
	case 0:
		return text + "/" + []string{"ms", "s", "m", "min", "h", "d", "3650d", "1.5s", ".5s", "second"}[r.IntN(10)]
	case 1:
		return text + "/" + strconv.FormatFloat(math.Pow(10, r.Float64()*8-3), 'f', r.IntN(20), 64) + []string{"ms", "s", "m", "h", "d"}[r.IntN(5)]
	}
	return text
}

// Whatever rate is let in survives everything that writes and reads it. Among the rates are some that ended a cluster
// and kept a server from starting, when the parser let in what no reader did.
func TestRatesSurviveEveryWriting(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 4))
	carriedOut := 0
	for range 20 {
		var lines strings.Builder
		for i := range 50 {
			rate, capacity := anyRate(r), strconv.FormatInt(1+r.Int64N(1<<r.IntN(40)), 10)
			fmt.Fprintf(&lines, []string{"TB.ACQUIRE k%d %s %s 1", "LB.ACQUIRE l%d %s %s", "LB.QUEUE q%d %s %s", "RL.ALL TB a%d %s %s", "RL.POLICY SET p%d TB x:{} %s %s",
				"TB.ACQUIRE f%d %s %s 3 FORCE", "TB.ACQUIRE w%d %s %s 3 MAXWAIT 1d"}[r.IntN(7)]+"\n", i, capacity, rate)
			fmt.Fprintf(&lines, "RL.POLICY OVERRIDE p%d me TB x:{} %s %s\nRL.CHECK p%d me\nRL.CHECK p%d you\n", i, capacity, anyRate(r), i, i)
		}
		carriedOut += roundTrip(t, asBytes(lines.String()))
	}
	if carriedOut < 600 {
		t.Errorf("only %d commands were carried out", carriedOut)
	}
}

// FuzzClientToDisk begins with a client's bytes, before the parser.
func FuzzClientToDisk(f *testing.F) {
	for _, lines := range []string{
		"TB.ACQUIRE k 1000000000 1000000.000001 1000000000\nRL.INFO k\nRL.REFUND k 3",
		"LB.ACQUIRE k 10 1/m 2 UPTO\nLB.QUEUE q 0 5/s\nTB.ACQUIRE t 2 16.666666666666668/min 3 MAXWAIT 1h\nTB.ACQUIRE t 2 1/3650d 3 FORCE",
		"CL.THROTTLE k 15 30 60 1\nFW.ACQUIRE f 5 @day\nFW.ACQUIRE g 5 @7m\nSW.ACQUIRE s 5 10s 2\nSL.ACQUIRE l 5 1m 3",
		"CC.ACQUIRE c 3 10s a\nCC.ACQUIRE c 3 10s b\nCC.RELEASE c a\nCC.HOLDERS c",
		"RL.ALL TB a 5 1/s FW b 5 @hour CC c 2 1m me TOKENS 2\nDEL a b",
		"RL.POLICY SET p TB u:{} 10 99999.99999999 SHADOW\nRL.CHECK p me 3\nRL.POLICY OVERRIDE p me SL {} 5 1h\nRL.POLICY DEL p\nFLUSHALL",
		"SET k v EX 100\nINCR n\nINCRBYFLOAT n 0.5\nSETNX e \nEXPIRE n 10 NX\nRENAME n m\nMGET k n m\nPERSIST k\nDEL k\nSET k 1 GET KEEPTTL\nTB.ACQUIRE k 5 1/s\nSET e2 ",
	} {
		f.Add(asBytes(lines))
	}
	f.Fuzz(func(t *testing.T, in []byte) { roundTrip(t, in) })
}

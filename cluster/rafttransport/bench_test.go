package rafttransport

import (
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/transport"
	"github.com/stintdb/stint/internal/testlog"
)

// BenchmarkAppendEntries sends an entry of 4 KiB over loopback. It reports the processor time of both ends.
func BenchmarkAppendEntries(b *testing.B) {
	open := func(address string) (*Transport, func(), string) {
		log := testlog.Log{}
		listening := &heardNetwork{}
		p := transport.New(transport.Config{Network: listening, Address: address, Log: log.Logger(),
			Known: func(string) raft.ServerID { return "" },
			Leads: func() bool { return false }, Hello: func(to raft.ServerID) transport.Hello {
				return transport.Hello{From: "a", To: to}
			}})
		if err := p.Listen("127.0.0.1:0"); err != nil {
			b.Fatal(err)
		}
		t := New(p, 2*time.Second).Group(0, "a")
		p.Start()
		return t, func() { _ = t.Close(); p.Halt() }, listening.address
	}
	from, end, _ := open("from")
	defer end()
	to, endTo, address := open("to")
	defer endTo()
	go func() {
		for rpc := range to.Consumer() {
			rpc.Respond(&raft.AppendEntriesResponse{RPCHeader: ofA, Term: 3, Success: true}, nil)
		}
	}()
	q := entries
	q.Entries = []*raft.Log{{Index: 2, Term: 3, Data: make([]byte, 4<<10), AppendedAt: time.Now()}}
	before := processorTime(b)
	for b.Loop() {
		if err := from.AppendEntries("b#1", raft.ServerAddress(address), &q, new(raft.AppendEntriesResponse)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/1000/float64(b.N), "cpu-µs/op")
}

// heardNetwork remembers where it listens.
type heardNetwork struct {
	transport.TCP
	address string
}

func (n *heardNetwork) Listen(address string) (net.Listener, error) {
	l, err := n.TCP.Listen(address)
	if err == nil {
		n.address = l.Addr().String()
	}
	return l, err
}

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

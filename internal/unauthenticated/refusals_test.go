package unauthenticated

import (
	"errors"
	"fmt"
	"net"
	"testing"
	"time"
)

func TestRefusalsAreBounded(t *testing.T) {
	var r Refusals
	now := time.Unix(0, 0)
	from := func(host string, port int) string { return fmt.Sprintf("%s:%d", host, port) }
	reset := func(port int) error {
		return &net.OpError{Op: "read", Addr: &net.TCPAddr{Port: port}, Err: errors.New("connection reset by peer")}
	}
	step := func(what string, after time.Duration, addr string, err error, want int) {
		t.Helper()
		now = now.Add(after)
		if got := r.Note(addr, err, now); got != want {
			t.Errorf("%s: %d, want %d", what, got, want)
		}
	}
	wrong := errors.New("from node b#1: this is node c#2, not c#1")
	step("the first", 0, from("10.0.0.1", 4001), wrong, 1)
	step("again, from another port", time.Second, from("10.0.0.1", 4002), wrong, 0)
	step("another reason", time.Second, from("10.0.0.1", 4003), errors.New("from node b#1: withdrawn"), 1)
	step("another host", time.Second, from("10.0.0.2", 4001), wrong, 1)
	step("a reset", 0, from("10.0.0.9", 1), reset(1), 1)
	step("a reset of another port", 0, from("10.0.0.9", 2), reset(2), 0)
	step("just before the minute is over", 57*time.Second-1, from("10.0.0.1", 4004), wrong, 0)
	step("a minute later, with those in between", 1, from("10.0.0.1", 4005), wrong, 3)
	step("and they are counted once", RefusalPeriod, from("10.0.0.1", 4006), wrong, 1)

	logged := 0
	for i := range 10_000 {
		if r.Note(from(fmt.Sprintf("10.1.%d.%d", i/256, i%256), 4001), wrong, now) > 0 {
			logged++
		}
	}
	if logged > MaxRefusals || len(r.seen) > MaxRefusals+1 {
		t.Errorf("10000 hosts at once: %d lines, %d kept", logged, len(r.seen))
	}
	step("a minute later there is room again", RefusalPeriod, from("10.2.0.1", 4001), wrong, 1)
}

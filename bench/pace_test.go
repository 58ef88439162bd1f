package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A server answers each request after a millisecond, the hundredth after a second. At a rate, the requests that are due
// in that second count with their delay; without one, only the one that was sent does.
func TestPaceCountsRequestsDelayedByAStall(t *testing.T) {
	for _, c := range []struct {
		perSecond   float64
		least, most float64 // of the 95th percentile's neighbour, p99, in milliseconds
	}{{100, 950, 1001}, {0, 0, 10}} {
		synctest.Test(t, func(t *testing.T) {
			p := pace{connections: 1, pipeline: 1, keys: 1, perSecond: c.perSecond, duration: 3 * time.Second}
			count := 0
			s, err := p.run(t.Context(), func(context.Context, int) (sender, error) {
				return func(ids []int, to *tally) error {
					if count++; count == 100 {
						time.Sleep(time.Second)
					}
					time.Sleep(time.Millisecond)
					to.granted += len(ids)
					return nil
				}, nil
			})
			if err != nil || s.P50ms > 10 || s.P99ms < c.least || s.P99ms > c.most || s.Granted != s.Requests {
				t.Errorf("rate %v: %+v, %v", c.perSecond, s, err)
			}
			if c.perSecond > 0 && (s.Requests != 300 || s.NotSent != 0) {
				t.Errorf("rate %v: %d requests, %d not sent", c.perSecond, s.Requests, s.NotSent)
			}
		})
	}
}

// Requests that are due together are sent together, and those that a slow server leaves no time for are counted.
func TestPaceOfASlowServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := pace{connections: 2, pipeline: 16, keys: 10, perSecond: 1000, duration: time.Second}
		s, err := p.run(t.Context(), func(context.Context, int) (sender, error) {
			return func(ids []int, to *tally) error {
				if len(ids) > 16 {
					t.Errorf("%d together", len(ids))
				}
				time.Sleep(100 * time.Millisecond)
				return nil
			}, nil
		})
		if err != nil || s.Requests+s.NotSent != 1000 || s.Requests < 16*18 || s.Requests > 16*20 {
			t.Errorf("%+v, %v", s, err)
		}
		broken := errors.New("broken")
		_, err = p.run(t.Context(), func(context.Context, int) (sender, error) { return func([]int, *tally) error { return broken }, nil })
		if !errors.Is(err, broken) {
			t.Error(err)
		}
	})
}

// The first integer of a reply decides, and an error reply is counted.
func TestRESPSenders(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	wantError(t, err, "")
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for in := bufio.NewReader(conn); ; {
			request := ""
			for range 5 { // *2, $3, ask, $1, the id
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				request = strings.TrimSpace(line)
			}
			reply := map[string]string{"0": "*2\r\n:0\r\n:5\r\n", "1": "*2\r\n:1\r\n:5\r\n", "2": "-ERR no\r\n"}[request]
			if _, err := io.WriteString(conn, reply); err != nil {
				return
			}
		}
	}()
	send, err := respSenders(keyed("ask", "{key}"), false)(l.Addr().String())(t.Context(), 0)
	wantError(t, err, "")
	var to tally
	wantError(t, send([]int{1, 0, 2, 1}, &to), "")
	if to.granted != 2 || to.errors != 1 || !strings.Contains(to.firstError.Error(), "ERR no") {
		t.Errorf("%+v", to)
	}
}

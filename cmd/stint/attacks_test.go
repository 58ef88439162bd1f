//go:build e2e

package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// attack attacks a server until ctx is done. It reports when it has begun.
type attack func(a *target, ctx context.Context, underWay func())

// slowloris is connections that never finish a command: each sends a byte of it a second.
func slowloris(connections int) attack {
	command := []byte("*4\r\n$10\r\nTB.ACQUIRE\r\n$16000\r\n" + strings.Repeat("x", 16_000))
	return func(a *target, ctx context.Context, underWay func()) {
		a.hold(ctx, connections, underWay, time.Second, func(conn net.Conn, round int) bool {
			_, err := conn.Write(command[round%len(command) : round%len(command)+1])
			return err == nil
		})
	}
}

// deafClients send 50 commands of a kilobyte ten times a second and never read the answers.
func deafClients(connections int) attack {
	commands := bytes.Repeat([]byte("ECHO "+strings.Repeat("x", 1000)+"\r\n"), 50)
	return func(a *target, ctx context.Context, underWay func()) {
		a.hold(ctx, connections, underWay, 100*time.Millisecond, func(conn net.Conn, _ int) bool {
			_ = conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
			_, err := conn.Write(commands)
			return err == nil || os.IsTimeout(err)
		})
	}
}

// hugeLengths sends headers that promise gigabytes, on a connection each.
func hugeLengths(a *target, ctx context.Context, underWay func()) {
	underWay()
	for ctx.Err() == nil {
		for _, in := range []string{"*1000000000\r\n", "*2\r\n$4\r\nECHO\r\n$2147483647\r\n", "*1024\r\n" + strings.Repeat("$65536\r\n", 3), "*99999999999999999999\r\n"} {
			if conn := a.dial(); conn != nil {
				_, _ = conn.Write([]byte(in))
				conn.Close()
			}
		}
	}
}

// reconnects opens a number of connections a second, each for one command, from ten clients.
func reconnects(perSecond int) attack {
	const clients = 10
	return func(a *target, ctx context.Context, underWay func()) {
		underWay()
		start := time.Now()
		var connected atomic.Int64
		var all sync.WaitGroup
		for range clients {
			all.Go(func() {
				for tick := time.NewTicker(time.Second * clients / time.Duration(perSecond)); ctx.Err() == nil; <-tick.C {
					if a.visit() {
						connected.Add(1)
					}
				}
			})
		}
		all.Wait()
		a.t.Logf("%.0f connections a second", float64(connected.Load())/time.Since(start).Seconds())
	}
}

// visit connects, asks something, and leaves once it is answered, so that no port stays in TIME_WAIT.
func (a *target) visit() bool {
	conn, err := net.Dial("tcp", a.address)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetLinger(0)
	_, _ = conn.Write([]byte("PING\r\n"))
	n, _ := conn.Read(make([]byte, 16))
	return n > 0
}

// hold opens connections and calls each for every one repeatedly until ctx is done.
func (a *target) hold(ctx context.Context, n int, underWay func(), pause time.Duration, each func(conn net.Conn, round int) bool) {
	var all, dialing sync.WaitGroup
	var opened atomic.Int64
	few := make(chan struct{}, 64)
	for range n {
		few <- struct{}{}
		dialing.Go(func() {
			defer func() { <-few }()
			conn, err := net.Dial("tcp", a.address)
			if err != nil {
				return // refused: too many connections
			}
			opened.Add(1)
			all.Go(func() {
				defer conn.Close()
				for round := 0; ctx.Err() == nil && each(conn, round); round++ {
					select {
					case <-ctx.Done():
					case <-time.After(pause):
					}
				}
			})
		})
	}
	dialing.Wait()
	if opened.Load() < int64(n) {
		a.t.Errorf("only %d of %d connections were opened", opened.Load(), n)
	}
	underWay()
	<-ctx.Done()
	all.Wait()
}

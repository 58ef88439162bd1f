//go:build e2e

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// largest are the largest states that a user may make, and the most expensive commands on them: a single one, or a
// pipeline of it up to the size of the query buffer.
var largest = []struct {
	name    string
	prepare func(b *testing.B, a *target)
	command string
	times   int
	login   string // of the attacker, the default user's if empty
}{
	{"CC.HOLDERS", bigSemaphore, "CC.HOLDERS big", 200, ""},
	{"CC.ACQUIRE", bigSemaphore, "CC.ACQUIRE big 10000 1h new", 5000, ""},
	{"CC.ACQUIRE renewed", bigSemaphore, "CC.ACQUIRE big 10000 1h " + holderName(9999), 3000, ""},
	{"TTL", bigSemaphore, "TTL big", 20000, ""},
	{"EXISTS 250 keys", bigSemaphore, "EXISTS" + strings.Repeat(" big", 250), 20, ""},
	{"EXEC of 250 TTL", bigSemaphore, "MULTI\r\n" + strings.Repeat("TTL big\r\n", 250) + "EXEC", 5, ""},
	{"RL.ALL of 64", bigSemaphore, "RL.ALL CC big 10000 1h x" + sixtyThreeMore(), 100, ""},
	{"SL.ACQUIRE grows", func(*testing.B, *target) {}, "SL.ACQUIRE log 100000 1h 100", 990, ""},
	{"SCAN", manyKeys, "SCAN 0 COUNT 100000", 1000, ""},
	{"SCAN hidden", manyKeys, "SCAN 0 COUNT 100000", 1000, "AUTH me tea\r\n"},
	{"SCAN MATCH", manyKeys, "SCAN 0 COUNT 100000 MATCH *1*2*3*4*5*6*[a-z]", 1000, ""},
	{"KEYS", manyKeys, "KEYS *77777", 3, ""},
	{"RANDOMKEY", manyKeys, "RANDOMKEY", 5000, "AUTH me tea\r\n"},
	{"DBSIZE", manyKeys, "DBSIZE", 5000, ""},
	{"INFO", manyKeys, "INFO everything", 1000, ""},
	{"RL.CHECK", manyOverrides, "RL.CHECK api mine:5 PEEK", 5000, "AUTH me tea\r\n"},
	{"RL.POLICY GET", manyOverrides, "RL.POLICY GET api mine:5", 2000, "AUTH me tea\r\n"},
	{"RL.POLICY LIST", manyPolicies, "RL.POLICY LIST", 2000, "AUTH me tea\r\n"},
	{"RL.POLICY SET of 64", manyOverrides, "RL.POLICY SET p TB k:{} 1 1/h" + sixtyThreeMore(), 500, ""},
	{"RL.TOP", manyDenied, "RL.TOP 1000", 500, ""},
	{"CLIENT LIST", manyConnections, "CLIENT LIST", 200, ""},
	{"COMMAND DOCS", func(*testing.B, *target) {}, "COMMAND DOCS", 500, ""},
	{"CONFIG GET", func(*testing.B, *target) {}, "CONFIG GET *", 1000, ""},
	{"ACL LIST", manyUsers, "ACL LIST", 500, ""},
	{"MEMORY STATS", manyKeys, "MEMORY STATS", 1000, ""},
	{"LATENCY HISTOGRAM", manyKeys, "LATENCY HISTOGRAM", 1000, ""},
	{"SLOWLOG GET", manyKeys, "SLOWLOG GET -1", 1000, ""},
	{"DEL 1000 keys", manyKeys, "DEL" + numbered(1000), 100, ""},
	{"FLUSHALL", manyKeys, "FLUSHALL", 1, ""},
}

// BenchmarkBystander sends the most expensive commands on the largest states from one client. It reports the longest
// wait of another client, which sends one PING after another, and the server's memory. Run it with -benchtime 1x on a
// machine with nothing else to do; -attack-scale 3 is 3,000,000 keys.
func BenchmarkBystander(b *testing.B) {
	for _, l := range largest {
		b.Run(l.name, func(b *testing.B) {
			a := startTarget(b, "--loops", "1", "--max-memory", "1gb", "--max-clients", "20000", "--max-clients-per-address", "20000")
			a.sendAndWait(b, "ACL SETUSER me on >tea ~mine:* +@all\r\n", 1)
			l.prepare(b, a)
			for b.Loop() {
				alone := a.longestPing(b, func() { time.Sleep(300 * time.Millisecond) })
				most := a.longestPing(b, func() { a.sendAll(b, l.login+strings.Repeat(l.command+"\r\n", l.times)) })
				b.ReportMetric(most.Seconds()*1000, "most-ms")
				b.ReportMetric(alone.Seconds()*1000, "alone-ms")
				b.ReportMetric(float64(a.resident())/(1<<20), "resident-MB")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// longestPing is a client's longest wait for a PING during a call.
func (a *target) longestPing(b *testing.B, during func()) (most time.Duration) {
	conn := a.dial()
	defer conn.Close()
	var over atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		in := bufio.NewReader(conn)
		for !over.Load() {
			began := time.Now()
			if _, err := conn.Write([]byte("PING\r\n")); err != nil {
				b.Error(err)
				return
			}
			if _, err := in.ReadSlice('\n'); err != nil {
				b.Error(err)
				return
			}
			most = max(most, time.Since(began))
		}
	}()
	during()
	over.Store(true)
	<-done
	return most
}

// sendAll sends commands at once, and reads until all are answered or the server closes.
func (a *target) sendAll(b *testing.B, commands string) {
	conn := a.dial()
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	go func() { _, _ = conn.Write([]byte(commands + "ECHO the-end-of-it\r\n")) }()
	in, tail := make([]byte, 64<<10), ""
	for !strings.HasSuffix(tail, "the-end-of-it\r\n") {
		n, err := conn.Read(in)
		if tail += string(in[:n]); err != nil {
			b.Logf("closed or too long: %v after …%.200q", err, tail[max(0, len(tail)-200):])
			return
		}
		tail = tail[max(0, len(tail)-32):]
	}
}

// sendAndWait sends commands and waits for the given number of answer lines.
func (a *target) sendAndWait(b *testing.B, commands string, lines int) {
	conn := a.dial()
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, commands) }()
	in := bufio.NewReader(conn)
	for range lines {
		if line, err := in.ReadString('\n'); err != nil || strings.HasPrefix(line, "-") {
			b.Fatalf("preparing: %q, %v", line, err)
		}
	}
}

// sendMany sends a command for each number, some hundred at a time.
func (a *target) sendMany(b *testing.B, n, lines int, format string) {
	var some strings.Builder
	for i := range n {
		fmt.Fprintf(&some, strings.ReplaceAll(format, "#", "%[1]d")+"\r\n", i)
		if i%500 == 499 || i == n-1 {
			a.sendAndWait(b, some.String(), lines*(i%500+1))
			some.Reset()
		}
	}
}

func holderName(i int) string { return fmt.Sprintf("%0248d", i) }

func sixtyThreeMore() (specs string) {
	for i := range 63 {
		specs += fmt.Sprintf(" TB k%d:{} 5 1/h", i)
	}
	return specs
}

func numbered(n int) (keys string) {
	for i := range n {
		keys += fmt.Sprintf(" key:%d", i)
	}
	return keys
}

func bigSemaphore(b *testing.B, a *target) {
	a.sendMany(b, 9999, 6, "CC.ACQUIRE big 10000 1h "+strings.Repeat("0", 240)+"#")
}

func manyKeys(b *testing.B, a *target) {
	a.sendMany(b, 1_000_000**attackScale, 6, "TB.ACQUIRE key:# 5 1/h")
}
func manyDenied(b *testing.B, a *target) { a.sendMany(b, 20_000, 6, "TB.ACQUIRE key:# 1 1/h 2") }
func manyPolicies(b *testing.B, a *target) {
	a.sendMany(b, 1000, 1, "RL.POLICY SET p# TB k:{} 1 1/h"+sixtyThreeMore())
}
func manyUsers(b *testing.B, a *target) {
	a.sendMany(b, 1000, 1, "ACL SETUSER u# on >tea ~mine:* +@all")
}
func manyOverrides(b *testing.B, a *target) {
	a.sendAndWait(b, "RL.POLICY SET api TB {} 5 1/h\r\n", 1)
	a.sendMany(b, 99_000, 1, "RL.POLICY OVERRIDE api id# TB {} 9 1/h")
}

func manyConnections(b *testing.B, a *target) {
	wantFiles(b, 10_500)
	for range 9_900 {
		conn, err := net.Dial("tcp", a.address)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close() })
	}
}

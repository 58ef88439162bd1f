//go:build e2e

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testwait"
)

// memoryFlood is an attack that takes memory and ends. Its preparations are done before it begins.
type memoryFlood struct {
	name    string
	prepare func(c *lineClient, scale int)
	do      func(a *target, scale int) // returns while the server still holds the bytes sent, or soon after
	keys    bool                       // it leaves keys, which take their share of memory for longer
	full    bool                       // at full size only
}

// memoryFloods is the list of the caches, buffers and pools that requests fill, each by its worst input. A new one is a
// new row.
var memoryFloods = []memoryFlood{
	{name: "unfinished commands of a user without rights", do: func(a *target, scale int) { unfinished(a, "AUTH none none\r\n", 19*scale) }},
	{name: "unfinished commands before a login", do: func(a *target, scale int) { unfinished(a, "", 100*scale) }},
	{name: "replies that nobody reads", do: func(a *target, scale int) {
		pipelines(a, 19*scale, bytes.Repeat([]byte("ECHO "+strings.Repeat("x", 60_000)+"\r\n"), 200))
	}},
	{name: "scripts of many functions", do: manyFunctions},
	{name: "logs and records", do: logsAndRecords},
	{name: "scripts over HTTP at once", do: scriptsAtOnce},
	{name: "distinct keys", keys: true, full: true, do: floodKeys},
	{name: "bursts of SCAN", keys: true, full: true, prepare: longKeys, do: func(a *target, scale int) { pipelines(a, 4, bytes.Repeat([]byte("SCAN 0 COUNT 100000\r\n"), 4)) }},
	{name: "bursts of KEYS", keys: true, full: true, prepare: longKeys, do: func(a *target, scale int) { pipelines(a, 8, []byte("KEYS *\r\n")) }},
	{name: "pipelines of CC.HOLDERS", keys: true, full: true, prepare: manyHolders, do: func(a *target, scale int) { pipelines(a, 2, bytes.Repeat([]byte("CC.HOLDERS cc\r\n"), 100)) }},
}

// While memory is flooded, and with keys in it, keys and buffers stay within --max-memory, and the process
// within 10 % of it. Afterwards keys have their room again, and the process gives the memory
// back: at full size automatically within a minute.
func TestMemoryComesBack(t *testing.T) {
	const total = 128 << 20
	for _, flood := range memoryFloods {
		if flood.full && !isFullSize() {
			continue
		}
		t.Run(flood.name, func(t *testing.T) {
			a := startTarget(t, "--max-memory", strconv.Itoa(total), "--requirepass", "tea", "--http-listen", "127.0.0.1:0", "--failed-logins", "1000000")
			c := a.lines()
			c.ask("ACL SETUSER none on >none -@all")
			if flood.prepare != nil {
				flood.prepare(c, *attackScale)
			}
			before, room := a.resident(), a.room()
			most, lowest := a.worstDuring(func() { flood.do(a, *attackScale) })
			if most > total+total/10 {
				t.Errorf("%d MB resident under attack, --max-memory is %d MB", most>>20, total>>20)
			}
			if isFullSize() {
				time.Sleep(time.Minute)
			} else {
				testwait.Until(t, "the attackers have left", func() bool { return a.info("connected_clients") <= 2 }) // this one, and the one that asks
				testwait.Until(t, "keys have their room again", func() bool {
					c.ask("MEMORY PURGE")
					return a.room() >= room-room/10
				})
			}
			after, roomAfter := a.resident(), a.room()
			t.Logf("resident: %d MB before, %d MB at most, %d MB afterwards; room for keys and the program: %d MB before, %d MB at least, %d MB afterwards",
				before>>20, most>>20, after>>20, room>>20, lowest>>20, roomAfter>>20)
			if roomAfter < room-room/10 {
				t.Errorf("keys and the program may take %d MB afterwards, and %d MB before", roomAfter>>20, room>>20)
			}
			if flood.keys {
				return
			}
			if isFullSize() && after > before+16<<20 {
				t.Errorf("%d MB resident afterwards, %d MB before", after>>20, before>>20)
			}
			for i := range 3000 {
				if got := c.ask(fmt.Sprintf("TB.ACQUIRE caller:%d 1 1/365d", i)); got != ":1" {
					t.Fatalf("after the attack, the first request of caller %d is answered %s", i, got)
				}
			}
		})
	}
}

// manyFunctions loads scripts that compile into much more than their bodies.
func manyFunctions(a *target, scale int) {
	c := a.lines()
	defer c.conn.Close()
	for i := range 200 * scale {
		body := fmt.Sprintf("--%d\n", i) + strings.Repeat("x=function()end ", 500)
		if reply := c.ask(fmt.Sprintf("*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%d\r\n%s", len(body), body)); len(reply) != 40 {
			a.t.Fatal(reply)
		}
	}
	c.ask("SCRIPT FLUSH") // loaded scripts are kept until then
}

// logsAndRecords fills the ACL log, the slow log, the recent requests on policies and the keys that are denied most,
// with long texts.
func logsAndRecords(a *target, scale int) {
	c := a.lines()
	defer c.conn.Close()
	c.ask("CONFIG SET slowlog-log-slower-than 0")
	long := strings.Repeat("x", 500)
	for i := range 40 {
		c.ask(fmt.Sprintf("RL.POLICY SET p%d TB p%d:{} 1 1/365d", i, i))
	}
	for i := range 10_000 * scale {
		c.ask(fmt.Sprintf("RL.CHECK p%d %d%s", i%40, i%500, long))
		c.ask(fmt.Sprintf("TB.ACQUIRE %d%s 1 1/365d 2", i, strings.Repeat("y", 2000))) // denied, so no key is kept
		c.ask(fmt.Sprintf("AUTH %d%s none", i, strings.Repeat("z", 60_000)))
	}
	c.ask("CONFIG SET slowlog-log-slower-than 10000")
}

// scriptsAtOnce runs scripts that hold six megabytes each, on as many connections of HTTP.
func scriptsAtOnce(a *target, scale int) {
	address := a.Listening(a.t, "HTTP")
	const body = `["EVAL", "local t = {} for i = 1, 6 do t[i] = string.rep('x', 1e6) .. i end while true do end", 0]`
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			for range 5 * scale {
				request, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, "http://"+address, strings.NewReader(body))
				if err != nil {
					a.t.Error(err)
					return
				}
				request.Header.Set("Authorization", "Bearer default:tea")
				request.Header.Set("Content-Type", "application/json")
				request.Close = true
				response, err := http.DefaultClient.Do(request)
				if err != nil {
					a.t.Error(err)
					return
				}
				text, _ := io.ReadAll(response.Body)
				response.Body.Close()
				if !strings.Contains(string(text), "ERR script takes ") { // more than its budget, or than a second where many wait for a processor
					a.t.Errorf("%.200s", text)
				}
			}
		})
	}
	all.Wait()
}

// worstDuring is the server's peak memory while do ran, and the least room for keys.
func (a *target) worstDuring(do func()) (most, lowest int64) {
	a.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var attack sync.WaitGroup
	attack.Go(func() {
		defer cancel()
		do()
	})
	attack.Go(func() {
		for ctx.Err() == nil {
			most = max(most, a.resident())
			time.Sleep(5 * time.Millisecond)
		}
	})
	lowest = 1 << 62
	for ctx.Err() == nil {
		lowest = min(lowest, a.room())
		time.Sleep(5 * time.Millisecond)
	}
	attack.Wait()
	return most, lowest
}

// attackTime is the time for which connections are held in a flood of memory.
func attackTime() time.Duration { return time.Duration(*attackScale) * time.Second }

// unfinished holds connections that each send almost a megabyte of a command, unless the server closes them.
func unfinished(a *target, login string, connections int) {
	word := "$65536\r\n" + strings.Repeat("x", 65536) + "\r\n"
	a.holdOpen(connections, []byte(login+"*1000\r\n"+strings.Repeat(word, 15)))
}

// pipelines holds connections that send commands and read nothing.
func pipelines(a *target, connections int, commands []byte) {
	a.holdOpen(connections, append([]byte("AUTH tea\r\n"), commands...))
}

// holdOpen sends bytes on a number of connections, opens closed ones again, and closes all after a time.
func (a *target) holdOpen(connections int, send []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), attackTime())
	defer cancel()
	var all sync.WaitGroup
	for range connections {
		all.Go(func() {
			for ctx.Err() == nil {
				conn := a.dial()
				if conn == nil {
					return
				}
				_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
				stop := context.AfterFunc(ctx, func() { conn.Close() })
				if _, err := conn.Write(send); err == nil {
					<-ctx.Done()
				}
				stop()
				conn.Close()
				select {
				case <-ctx.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	all.Wait()
}

// floodKeys sends far more distinct keys than there is room for.
func floodKeys(a *target, scale int) {
	var all sync.WaitGroup
	for thread := range 2 {
		all.Go(func() {
			conn := a.dial()
			defer conn.Close()
			go func() { _, _ = io.Copy(io.Discard, conn) }()
			_, _ = conn.Write([]byte("AUTH tea\r\n"))
			var out []byte
			for i := range 500_000 * scale {
				out = fmt.Appendf(out, "TB.ACQUIRE ip:%d:%d 10 1/h\r\n", thread, i)
				if len(out) > 32<<10 {
					if _, err := conn.Write(out); err != nil {
						a.t.Error(err)
						return
					}
					out = out[:0]
				}
			}
		})
	}
	all.Wait()
}

// longKeys makes keys of 1000 bytes.
func longKeys(c *lineClient, scale int) {
	for i := range 4000 * scale {
		c.ask(fmt.Sprintf("TB.ACQUIRE %s:%d 10 1/h", strings.Repeat("k", 1000), i))
	}
}

// manyHolders makes a semaphore with 10,000 holders of long names.
func manyHolders(c *lineClient, _ int) {
	for i := range 10_000 {
		c.ask(fmt.Sprintf("CC.ACQUIRE cc 10000 1h %s%06d", strings.Repeat("h", 240), i))
	}
}

// lineClient asks one command after another.
type lineClient struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

// lines is a client that has logged in.
func (a *target) lines() *lineClient {
	conn := a.dial()
	c := &lineClient{a.t, conn, bufio.NewReader(conn)}
	c.ask("AUTH tea")
	return c
}

// ask sends a command and returns its reply, or the first element if that is an array of plain ones.
func (c *lineClient) ask(command string) string {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.conn, "%s\r\n", command); err != nil {
		c.t.Fatal(err)
	}
	line := func() string {
		text, err := c.in.ReadString('\n')
		if err != nil {
			c.t.Fatalf("%.60s: %v", command, err)
		}
		return strings.TrimSpace(text)
	}
	reply := line()
	if strings.HasPrefix(reply, "$") && reply != "$-1" {
		return line()
	}
	if count, is := strings.CutPrefix(reply, "*"); is {
		n, _ := strconv.Atoi(count)
		for i := range n {
			if text := line(); i == 0 {
				reply = text
			}
		}
	}
	return reply
}

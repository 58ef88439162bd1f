//go:build e2e

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"
)

// act is an attack by a user with the smallest rights that it needs. At size 1 its arguments are the largest that are
// legal; smaller sizes are for tests of every change.
type act struct {
	name   string
	rules  string // of the user, after its name and password
	repeat int    // number of commands that a connection sends at once
	// prepare sets up the act, with the rights of an administrator.
	prepare func(h *campaign)
	// command is one command of it.
	command func(h *campaign, r *rand.Rand) []string
	// raw bytes are sent unchanged in place of commands.
	raw func(h *campaign, r *rand.Rand) string
}

var acts = []act{
	{name: "holders", rules: "~t:* +cc.holders", repeat: 200, prepare: (*campaign).fillLeases,
		command: func(*campaign, *rand.Rand) []string { return []string{"CC.HOLDERS", "t:cc"} }},
	{name: "lease", rules: "~t:* +cc.acquire", repeat: 3000, prepare: (*campaign).fillLeases,
		command: func(h *campaign, r *rand.Rand) []string {
			return []string{"CC.ACQUIRE", "t:cc", "10000", "1h", leaseName(r.IntN(h.scaled(10_000)))}
		}},
	{name: "scan", rules: "~t:* +scan", repeat: 4, prepare: (*campaign).fillKeys,
		command: func(*campaign, *rand.Rand) []string { return []string{"SCAN", "0", "COUNT", "100000"} }},
	{name: "match", rules: "~none:* +scan", repeat: 4, prepare: (*campaign).fillKeys,
		command: func(*campaign, *rand.Rand) []string {
			return []string{"SCAN", "0", "MATCH", strings.Repeat("*x?", 1000), "COUNT", "100000"}
		}},
	{name: "keys", rules: "~t:* +keys", repeat: 4, prepare: (*campaign).fillKeys,
		command: func(*campaign, *rand.Rand) []string { return []string{"KEYS", "*"} }},
	{name: "random", rules: "~none:* +randomkey", repeat: 50, prepare: (*campaign).fillKeys,
		command: func(*campaign, *rand.Rand) []string { return []string{"RANDOMKEY"} }},
	{name: "check", rules: "~t:* +rl.check", repeat: 100, prepare: (*campaign).fillOverrides,
		command: func(_ *campaign, r *rand.Rand) []string {
			return []string{"RL.CHECK", "big", fmt.Sprint(r.IntN(1000))}
		}},
	{name: "policy", rules: "~t:* +rl.policy", repeat: 50, prepare: (*campaign).fillOverrides,
		command: func(_ *campaign, r *rand.Rand) []string {
			return [][]string{{"RL.POLICY", "LIST"}, {"RL.POLICY", "GET", "big"}, {"RL.POLICY", "GET", "big", "7"}}[r.IntN(3)]
		}},
	{name: "several", rules: "~t:* +rl.all", repeat: 100,
		command: func(_ *campaign, r *rand.Rand) []string {
			words := []string{"RL.ALL"}
			for i := range 64 {
				words = append(words, "SL", longKey("s", i), "100000", "10m")
			}
			return words
		}},
	{name: "logs", rules: "~t:* +sl.acquire +sl.log", repeat: 1000,
		command: func(_ *campaign, r *rand.Rand) []string {
			if r.IntN(50) == 0 {
				return []string{"SL.LOG", fmt.Sprint("t:log", r.IntN(8)), "COUNT", "10000"}
			}
			return []string{"SL.ACQUIRE", fmt.Sprint("t:log", r.IntN(8)), "100000", "10m"}
		}},
	{name: "delete", rules: "~t:* +del +exists", repeat: 20,
		command: func(_ *campaign, r *rand.Rand) []string {
			words := []string{[]string{"DEL", "EXISTS"}[r.IntN(2)]}
			for i := range 200 {
				words = append(words, longKey("d", i))
			}
			return words
		}},
	{name: "transaction", rules: "~t:* +multi +exec +cc.holders +scan", repeat: 1, prepare: (*campaign).fillBoth, raw: transactionOf},
	{name: "script", rules: "+eval", repeat: 20, command: dearScript},
	{name: "script-of-keys", rules: "~t:* +eval +set +get", repeat: 20,
		command: func(_ *campaign, r *rand.Rand) []string {
			return []string{"EVAL", "while true do redis.call('SET', KEYS[1], redis.call('GET', KEYS[1])) end", "1", fmt.Sprint("t:", r.IntN(100))}
		}},
	{name: "load", rules: "+script|load", repeat: 4,
		command: func(_ *campaign, r *rand.Rand) []string {
			piece := []string{"x=function()end ", "f(#) ", "f'#' ", "if a then b=# end ", "local x = {1,2,#} "}[r.IntN(5)]
			return []string{"SCRIPT", "LOAD", fmt.Sprintf("--%d\n", r.Uint64()) + strings.Repeat(strings.ReplaceAll(piece, "#", fmt.Sprint(r.IntN(1000))), r.IntN(3000))}
		}},
	{name: "echo", rules: "+echo", repeat: 100,
		command: func(*campaign, *rand.Rand) []string { return []string{"ECHO", strings.Repeat("e", 60_000)} }},
	{name: "unfinished", rules: "-@all", raw: func(h *campaign, _ *rand.Rand) string {
		return fmt.Sprintf("*1024\r\n%s$65536\r\n", strings.Repeat("$60000\r\n"+strings.Repeat("u", 60_000)+"\r\n", h.scaled(16)))
	}},
	{name: "wrong-password", rules: "-@all", repeat: 100,
		command: func(_ *campaign, r *rand.Rand) []string { return []string{"AUTH", "bystander", fmt.Sprint(r.Uint64())} }},
}

// dearScript is a script that does something dear until its budget ends, often one that has never run before.
func dearScript(_ *campaign, r *rand.Rand) []string {
	dear := []string{"", "f(s, s, s)", "local x = s + 1", "tostring(1/3)", "string.format('%.99e', 5e-324)", "pcall(error, string.rep('x', 60000))", "string.rep('x', 1e5)",
		"loadstring('return 1')", "string.find(string.rep('a', 1000), '.-.-.-b')", "cjson.decode('[5e-324,5e-324]')", "local t = {} for i = 1, 1000 do t[i] = {} end"}
	body := fmt.Sprintf("--%d\nlocal s, f = '2.2250738585072011' .. string.rep('3', 480) .. 'e-308', math.max while true do %s end", r.IntN(1000), dear[r.IntN(len(dear))])
	return []string{"EVAL", body, "0"}
}

// leaseName is a holder's name of 248 bytes.
func leaseName(i int) string { return fmt.Sprintf("%0248d", i) }

// longKey is a key of the greatest length.
func longKey(prefix string, i int) string {
	return fmt.Sprintf("t:%s%0*d", prefix, 4094-len(prefix), i)
}

// transactionOf is a transaction of a thousand commands with large replies.
func transactionOf(h *campaign, _ *rand.Rand) string {
	out := "MULTI\r\n"
	for range h.scaled(1000) {
		out += "CC.HOLDERS t:cc\r\nSCAN 0 COUNT 100000\r\n"
	}
	return out + "EXEC\r\n"
}

// scaled is a size of the full campaign, scaled by -hostile-scale; at least 1.
func (h *campaign) scaled(n int) int { return max(1, n**hostileScale/100) }

// fill sends commands as an administrator, and reads the answers.
func (h *campaign) fill(n int, command func(i int) []string) {
	h.t.Helper()
	for i := 0; i < n; i += 100 {
		var commands [][]string
		for j := i; j < min(n, i+100); j++ {
			commands = append(commands, command(j))
		}
		if err := h.root.send(commands...); err != nil {
			h.t.Fatal(err)
		}
		for _, c := range commands {
			if reply, err := h.root.reply(); err != nil || reply[0] == '-' {
				h.t.Fatalf("%.200q: %q, %v", c, reply, err)
			}
		}
	}
}

func (h *campaign) fillLeases() {
	h.fill(h.scaled(10_000), func(i int) []string { return []string{"CC.ACQUIRE", "t:cc", "10000", "1d", leaseName(i)} })
}

func (h *campaign) fillKeys() {
	h.fill(h.scaled(8000), func(i int) []string { return []string{"TB.ACQUIRE", longKey("k", i), "10", "1/1h", "5"} })
}

func (h *campaign) fillBoth() {
	h.fillLeases()
	h.fillKeys()
}

func (h *campaign) fillOverrides() {
	h.fill(1, func(int) []string { return []string{"RL.POLICY", "SET", "big", "TB", "t:p{}", "100", "1/s"} })
	h.fill(h.scaled(100_000), func(i int) []string {
		return []string{"RL.POLICY", "OVERRIDE", "big", strconv.Itoa(i), "TB", "t:p{}", "1000", "10/s"}
	})
}

// once sends one command of an act, and reads its answer.
func (h *campaign) once(a *act, r *rand.Rand) {
	conn := h.login(a)
	if conn == nil || a.command == nil {
		return
	}
	defer conn.Close()
	_, _ = conn.ask(a.command(h, r)...)
}

// flood sends the commands of an act repeatedly until ctx is done: some connections read the answers, some do not.
func (h *campaign) flood(ctx context.Context, a *act, r *rand.Rand, reads bool) {
	for ctx.Err() == nil {
		conn := h.login(a)
		if conn == nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		if reads {
			go func() { _, _ = conn.in.WriteTo(discard{}) }()
		}
		for n := 0; n < 20 && ctx.Err() == nil; n++ {
			if h.sendSome(conn, a, r) != nil {
				break
			}
			if a.raw != nil && a.command == nil && a.repeat == 0 { // an unfinished command keeps its connection open
				<-ctx.Done()
			}
		}
		stop()
		conn.Close()
	}
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func (h *campaign) sendSome(conn *exactConn, a *act, r *rand.Rand) error {
	if a.raw != nil {
		_ = conn.SetDeadline(time.Now().Add(time.Second))
		_, err := conn.Write([]byte(a.raw(h, r)))
		return err
	}
	commands := make([][]string, h.scaled(a.repeat))
	for i := range commands {
		commands[i] = a.command(h, r)
	}
	err := conn.send(commands...)
	_ = conn.SetDeadline(time.Time{})
	return err
}

// login is a connection of the act's user; nil if the server refuses it.
func (h *campaign) login(a *act) *exactConn {
	tcp, err := net.Dial("tcp", h.server.address)
	if err != nil {
		return nil
	}
	conn := wrapExact(tcp)
	if reply, _ := conn.ask("AUTH", a.name, "secret"); reply != "+OK\r\n" {
		conn.Close()
		return nil
	}
	return conn
}

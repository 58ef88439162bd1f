//go:build installed

package installed

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testscripts"
	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/internal/testwait"
)

const (
	generatedOfRound = 200 // scripts
	limitOfScripts   = 100
	pipelineLength   = 16
)

// limiterScript is one of the benchmarked scripts, which admits limitOfScripts requests within a test.
type limiterScript struct {
	file    string
	args    []string
	granted string // how the reply to a granted request begins
}

var limiterScripts = []limiterScript{
	{"gcra", []string{strconv.Itoa(limitOfScripts - 1), "1", "86400"}, "*5\r\n:0\r\n"},
	{"token-bucket", []string{strconv.Itoa(limitOfScripts), "1", "86400"}, "*2\r\n:1\r\n"},
	{"sliding-log", []string{"86400", strconv.Itoa(limitOfScripts), "id"}, "*2\r\n:1\r\n"},
	{"counter", []string{"86400", strconv.Itoa(limitOfScripts)}, ":1\r\n"},
}

// logByTime is a sliding log whose members are named by the time alone.
const logByTime = `local t = redis.call('TIME')
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], t[1] * 1000000 + t[2], t[1] .. '.' .. t[2])
return 1`

// asker is a connection to a server.
type asker struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func newAsker(t *testing.T, address string) *asker {
	t.Helper()
	conn, err := net.DialTimeout("tcp", address, testwait.Limit)
	if err != nil {
		t.Fatal(err)
	}
	return &asker{t, conn, bufio.NewReader(conn)}
}

func (a *asker) close() { a.conn.Close() }

// do sends commands in a pipeline, and returns the bytes of each reply.
func (a *asker) do(commands ...[]string) (replies []string) {
	a.t.Helper()
	var request []byte
	for _, words := range commands {
		request = fmt.Appendf(request, "*%d\r\n", len(words))
		for _, word := range words {
			request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(word), word)
		}
	}
	_ = a.conn.SetDeadline(testwait.Deadline())
	if _, err := a.conn.Write(request); err != nil {
		a.t.Fatal(err)
	}
	for range commands {
		var reply bytes.Buffer
		if err := a.read(&reply); err != nil {
			a.t.Fatal(err)
		}
		replies = append(replies, reply.String())
	}
	return replies
}

// read copies one reply.
func (a *asker) read(reply *bytes.Buffer) error {
	line, err := a.in.ReadString('\n')
	if err != nil {
		return err
	}
	reply.WriteString(line)
	n, _ := strconv.Atoi(strings.TrimSpace(line[1:]))
	switch {
	case line[0] == '$' && n >= 0:
		_, err = io.CopyN(reply, a.in, int64(n)+2)
	case line[0] == '*':
		for range n {
			if err == nil {
				err = a.read(reply)
			}
		}
	}
	return err
}

// texts are the texts of an array of them.
func texts(reply string) (all []string) {
	for i, line := range strings.Split(reply, "\r\n") {
		if i%2 == 0 && i > 0 {
			all = append(all, line)
		}
	}
	return all
}

// state lists the keys that a server has itself, with their values and expiries.
func (a *asker) state() string {
	a.t.Helper()
	keys := texts(a.do([]string{"READONLY"}, []string{"KEYS", "*"})[1])
	slices.Sort(keys)
	var all strings.Builder
	for _, key := range keys {
		read := []string{"GET", key}
		switch kind := a.do([]string{"TYPE", key})[0]; kind {
		case "+hash\r\n":
			read = []string{"HGETALL", key}
		case "+zset\r\n":
			read = []string{"ZRANGE", key, "0", "-1", "WITHSCORES"}
		case "+string\r\n":
		default:
			a.t.Fatalf("%s is a %q", key, kind)
		}
		fmt.Fprintf(&all, "%s %q\n", key, a.do(read, []string{"PEXPIRETIME", key}))
	}
	return all.String()
}

// generatedScript is a random script with keys of its own, and what it returns and leaves on one server.
type generatedScript struct {
	call, look []string
	want       string
}

func (s *generatedScript) runAt(a *asker) string { return strings.Join(a.do(s.call, s.look), "") }

// scriptError begins the reply of a script that ends with an error of the interpreter.
const scriptError = "-ERR user_script:"

// writeScripts returns random scripts that the last release and this one run alike.
func writeScripts(t *testing.T, before, now string, count int) (alike []generatedScript) {
	t.Helper()
	g := testscripts.Generator{Rand: rand.New(rand.NewPCG(testsize.Seed(), 6))}
	old, newer := newAsker(t, testserver.Start(t, before)), newAsker(t, testserver.Start(t, now))
	defer old.close()
	defer newer.close()
	differ := 0
	for i := 0; len(alike) < count; i++ {
		write := g.Program
		if i%4 == 3 {
			write = g.Script
		}
		key := fmt.Sprint("generated", i)
		body := strings.ReplaceAll(write(), "'k'", "'"+key+"'")
		s := generatedScript{
			call: []string{"EVAL", body, "2", key + ":1", key + ":2", "5", "abc", " 0x10 ", "1.5"},
			look: []string{"GET", key},
		}
		got, is := s.runAt(old), s.runAt(newer)
		s.want = is
		switch {
		case got == is:
			alike = append(alike, s)
		case strings.HasPrefix(got, scriptError) && strings.HasPrefix(is, scriptError): // another of its errors, or another line
		case !strings.Contains(got, "0x"): // an address, which differs from run to run
			differ++
			t.Logf("%s\nbefore %.300q\nnow    %.300q", body, got, is)
		}
	}
	if differ > count/100 { // docs/decisions/0047-closures-for-scripts.md says which; about one of a thousand
		t.Errorf("%d of %d scripts differ between the last release and this one", differ, count)
	}
	return alike
}

// mixedNodes are nodes of several programs, with a connection to each.
type mixedNodes struct {
	t     *testing.T
	nodes []*installation
}

// askers connects to all nodes.
func (m *mixedNodes) askers() (all []*asker) {
	m.t.Helper()
	for _, node := range m.nodes {
		a := newAsker(m.t, node.Address)
		m.t.Cleanup(a.close)
		all = append(all, a)
	}
	return all
}

// lead makes a node the leader.
func (m *mixedNodes) lead(number int) {
	m.t.Helper()
	testwait.Until(m.t, fmt.Sprintf("node%d leads", number+1), func() bool {
		if m.nodes[number].Leads() {
			return true
		}
		for _, node := range m.nodes {
			if node.Leads() {
				_, _ = ask(node.Address, "RAFT", "TRANSFER", fmt.Sprint("node", number+1))
			}
		}
		return false
	})
	for _, node := range m.nodes {
		node.AwaitFormed(m.t)
	}
}

// run runs all scripts, each at another node, and then compares the states of the nodes.
func (m *mixedNodes) run(round string, generated []generatedScript) {
	m.t.Helper()
	at := m.askers()
	for i := range generated {
		s := &generated[i]
		if got := s.runAt(at[i%len(at)]); got != s.want {
			m.t.Errorf("%s, at node%d: %.300q, and alone %.300q\n%s", round, i%len(at)+1, got, s.want, s.call[1])
		}
	}
	for _, s := range limiterScripts {
		text, err := os.ReadFile("../../bench/scripts/" + s.file + ".lua")
		if err != nil {
			m.t.Fatal(err)
		}
		m.mustGrant(at, round, s.file, string(text), s.args, s.granted)
	}
	m.statesMustBeEqual(at, round)
}

// mustGrant asks at all nodes in turn, in pipelines, for nearly twice the limit of a limiter. It must grant the limit.
func (m *mixedNodes) mustGrant(at []*asker, round, name, body string, args []string, begins string) {
	m.t.Helper()
	granted := 0
	for i := range 2 * limitOfScripts / pipelineLength {
		var pipeline [][]string
		for j := range pipelineLength {
			call := append([]string{"EVAL", body, "1", name + round}, args...)
			if call[len(call)-1] == "id" {
				call[len(call)-1] = fmt.Sprint(i, ":", j)
			}
			pipeline = append(pipeline, call)
		}
		for _, reply := range at[i%len(at)].do(pipeline...) {
			if strings.HasPrefix(reply, begins) {
				granted++
			} else if strings.HasPrefix(reply, "-") {
				m.t.Errorf("%s, %s: %q", round, name, reply)
			}
		}
	}
	if granted != limitOfScripts {
		m.t.Errorf("%s: %s granted %d in place of %d", round, name, granted, limitOfScripts)
	}
}

func (m *mixedNodes) statesMustBeEqual(at []*asker, round string) {
	m.t.Helper()
	var states []string
	err := testwait.Poll(func() error {
		states = nil
		for _, a := range at {
			states = append(states, a.state())
		}
		for i, state := range states {
			if state != states[0] {
				return fmt.Errorf("node%d:\n%s\nnode1:\n%s", i+1, state, states[0])
			}
		}
		return nil
	})
	if err != nil {
		m.t.Errorf("%s: the states differ: %.5000v", round, err)
	}
	m.t.Logf("%s: %d keys on each node", round, strings.Count(states[0], "\n"))
}

// TestInstalledScriptsInAMixedCluster runs scripts in a cluster with nodes of the last release and of this one, while
// either leads: every node computes the same. Once all are upgraded, scripts of an entry of the log see times of their
// own.
func TestInstalledScriptsInAMixedCluster(t *testing.T) {
	before, now := testserver.BuildFrom(t, lastRelease(t)), program(t)
	rounds := []struct {
		name   string
		leader int
	}{{"an old leader", 0}, {"a new leader", 1}, {"an old leader again", 2}}
	generated := writeScripts(t, before, now, (len(rounds)+1)*generatedOfRound)
	m := &mixedNodes{t: t}
	peers := testserver.ReserveAddresses(t, 3)
	for n, own := range peers {
		of := before
		if n == 1 {
			of = now
		}
		m.nodes = append(m.nodes, install(t, of, "--node-id", fmt.Sprint("node", n+1), "--cluster-listen", own,
			"--cluster-peers", strings.Join(peers, ","), "--cluster-heartbeat", "1s", "--decide-timeout", "20s"))
	}
	for _, node := range m.nodes {
		node.AwaitFormed(t)
	}
	format := formatVersion(t, m.nodes[1])
	for i, round := range rounds {
		m.lead(round.leader)
		m.run(round.name, generated[i*generatedOfRound:(i+1)*generatedOfRound])
	}
	for _, n := range []int{0, 2} {
		m.nodes[n].restart(t, now)
		m.nodes[n].AwaitFormed(t)
	}
	testwait.Until(t, "the cluster uses the new version", func() bool { return formatVersion(t, m.nodes[1]) != format })
	m.run("all new", generated[len(rounds)*generatedOfRound:])
	m.mustGrant(m.askers(), "all new", "log by time", logByTime, []string{strconv.Itoa(limitOfScripts)}, ":1\r\n")
	m.statesMustBeEqual(m.askers(), "all new, by time")
}

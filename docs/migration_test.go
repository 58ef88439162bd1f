//go:build e2e

package docs

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/server/transcripttest"
)

const migrationPage = "docs/migrate/lua.md"

// replacement is a section of the page about scripts: a script, and pairs of a call and the command in its place.
type replacement struct {
	heading  string
	script   string
	calls    []string // as on the page: EVAL script 1 user:7 …
	commands []string
}

// replacements reads the page's sections that have a script.
func replacements(t *testing.T) (all []replacement) {
	p := readPage(t, migrationPage)
	for _, b := range p.blocks() {
		switch last := len(all) - 1; {
		case b.language == "lua":
			all = append(all, replacement{heading: headingAbove(p, b.line), script: b.text()})
		case last < 0:
		case b.language == "text":
			all[last].calls = b.lines
		case b.language == "transcript":
			all[last].commands, _ = split(b.lines, "> ")
		}
	}
	return all
}

// headingAbove is the heading of the section in which a line is.
func headingAbove(p page, line int) (found string) {
	for _, text := range p.prose()[:line] {
		if h := heading.FindStringSubmatch(text); h != nil {
			found = h[1]
		}
	}
	return found
}

// TestScriptsDecideAlike sends the same traffic to each script of the page, on a Redis server, and to the command
// beside it, on Stint, and compares the grants.
func TestScriptsDecideAlike(t *testing.T) {
	require(t, installed("redis-server"), "redis-server", "Redis or Valkey (Debian: redis-server)")
	redis := startRedis(t)
	sections := replacements(t)
	if len(sections) != 8 {
		t.Fatalf("the page has %d scripts", len(sections))
	}
	for _, r := range sections {
		t.Run(r.heading, func(t *testing.T) {
			if len(r.calls) == 0 || len(r.calls) != len(r.commands) {
				t.Fatalf("%d calls of the script beside %d commands", len(r.calls), len(r.commands))
			}
			stint := newPlayer(t)
			defer stint.Close()
			redis.do(t, "FLUSHALL")
			redis.now, redis.ends = transcriptStart, map[string]time.Time{}
			random := rand.New(rand.NewPCG(1, 2))
			granted, denied := 0, 0
			for round := range 20 {
				g, d := r.play(t, redis, stint, random, fmt.Sprint(round))
				granted, denied = granted+g, denied+d
			}
			t.Logf("%d granted, %d denied", granted, denied)
			if granted < 400 || denied < 400 {
				t.Errorf("%d granted and %d denied: that traffic shows little", granted, denied)
			}
		})
	}
}

// play sends 200 requests to both, at random times and for two keys, in a mix of bursts and pauses.
func (r *replacement) play(t *testing.T, redis *redisServer, stint *player, random *rand.Rand, round string) (granted, denied int) {
	longest := []int64{50, 500, 5000, 20000}[random.IntN(4)]
	for i := range 200 {
		which := random.IntN(len(r.calls))
		change := strings.NewReplacer("user:7", fmt.Sprintf("user:%s:%d", round, random.IntN(2)), "job-1", fmt.Sprintf("job-%d", random.IntN(4)))
		theirs := redis.play(t, r.script, change.Replace(r.calls[which]), i)
		ours := do(t, stint, change.Replace(r.commands[which]))
		isAcquire := strings.HasPrefix(r.calls[which], "EVAL ") // the page explains that ZREM also finds expired leases
		if ours, theirs := isGranted(ours), isGranted(theirs); ours != theirs && isAcquire {
			t.Fatalf("request %d, %s after the start: the script says %v, %s says %v", i, redis.now.Sub(transcriptStart), theirs, r.commands[which], ours)
		} else if ours && isAcquire {
			granted++
		} else if isAcquire {
			denied++
		}
		pause := time.Duration(random.Int64N(longest)) * time.Millisecond * time.Duration(random.IntN(2))
		if random.IntN(60) == 0 {
			pause += time.Duration(random.IntN(200)) * time.Second
		}
		redis.advance(t, pause)
		stint.Advance(pause)
	}
	return granted, denied
}

// TestScriptDrifts checks the claim of the page about floating point: ten times a tenth of a token is less than one.
func TestScriptDrifts(t *testing.T) {
	require(t, installed("redis-server"), "redis-server", "Redis or Valkey (Debian: redis-server)")
	redis, stint := startRedis(t), newPlayer(t)
	defer stint.Close()
	sections := replacements(t)
	script := sections[slices.IndexFunc(sections, func(r replacement) bool { return strings.HasPrefix(r.heading, "Token bucket") })].script
	theirs, ours := 0, 0
	for i := range 1001 {
		if isGranted(redis.play(t, script, "EVAL script 1 drift NOW 1 0.1 1", i)) {
			theirs++
		}
		if isGranted(do(t, stint, "TB.ACQUIRE drift 1 1/10ms")) {
			ours++
		}
		redis.advance(t, time.Millisecond)
		stint.Advance(time.Millisecond)
	}
	if ours != 101 || theirs >= ours {
		t.Errorf("a token each 10 ms, asked for every millisecond of a second: %d from Stint, %d from the script", ours, theirs)
	}
	t.Logf("%d from Stint, %d from the script", ours, theirs)
}

// isGranted reports whether a reply is a grant. The reply is 0 or 1, or an array that begins with the granted tokens.
func isGranted(reply string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(reply, "["), " ")
	return first != "0"
}

func do(t *testing.T, p *player, command string) string {
	t.Helper()
	reply, err := p.Do("", words(command), "")
	if err != nil || isError(reply) {
		t.Fatalf("%s: %s %v", command, reply, err)
	}
	return reply
}

// isError reports whether a reply is an error and not a negative integer.
func isError(reply string) bool { return len(reply) > 1 && reply[0] == '-' && reply[1] >= 'A' }

func words(command string) (all [][]byte) {
	for _, word := range strings.Fields(command) {
		all = append(all, []byte(word))
	}
	return all
}

// redisServer is a Redis server that a test talks to. Its clock is the machine's; to let keys expire by the test's
// clock, their ends are taken down and carried out here.
type redisServer struct {
	conn   net.Conn
	unread *bufio.Reader
	now    time.Time
	ends   map[string]time.Time
}

func startRedis(t *testing.T) *redisServer {
	t.Helper()
	folder := t.TempDir()
	socket := filepath.Join(folder, "redis.sock")
	process := testserver.Run(t, "redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--dir", folder)
	process.AwaitConnections(t, "unix", socket)
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &redisServer{conn, bufio.NewReader(conn), transcriptStart, map[string]time.Time{}}
}

func (r *redisServer) do(t *testing.T, words ...string) string {
	t.Helper()
	return r.doAll(t, words)[0]
}

// doAll sends commands together, so that Redis carries them out one right after the other.
func (r *redisServer) doAll(t *testing.T, commands ...[]string) (replies []string) {
	t.Helper()
	lines := ""
	for _, words := range commands {
		lines += fmt.Sprintf("*%d\r\n", len(words))
		for _, word := range words {
			lines += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
		}
	}
	err := r.conn.SetDeadline(time.Now().Add(replyTimeout))
	if err == nil {
		_, err = r.conn.Write([]byte(lines))
	}
	for _, words := range commands {
		reply := ""
		if err == nil {
			reply, err = transcripttest.ReadReply(r.unread)
		}
		if err != nil || isError(reply) {
			t.Fatalf("%q: %s %v", words, reply, err)
		}
		replies = append(replies, reply)
	}
	return replies
}

// play runs a call as the page shows it, at the time of the test's clock.
func (r *redisServer) play(t *testing.T, script, call string, request int) string {
	t.Helper()
	minute := r.now.Unix() / 60
	call = strings.NewReplacer("NOW", fmt.Sprint(r.now.UnixMilli()), "REQUEST", fmt.Sprint("request-", request),
		"LASTMINUTE", fmt.Sprint(minute-1), "MINUTE", fmt.Sprint(minute), "HOUR", fmt.Sprint(minute/60)).Replace(call)
	fields := strings.Fields(call)
	var keys []string
	if fields[0] == "EVAL" {
		fields[1] = script
		count, _ := strconv.Atoi(fields[2])
		keys = fields[3 : 3+count]
	}
	commands := [][]string{fields}
	for _, key := range keys {
		commands = append(commands, []string{"PTTL", key})
	}
	replies := r.doAll(t, commands...)
	for i, key := range keys {
		if left, _ := strconv.Atoi(replies[1+i]); left > 0 {
			// Up to the whole second, as given to EXPIRE: the machine's clock has gone on since.
			r.ends[key] = r.now.Add(time.Duration((left+999)/1000) * time.Second)
			r.do(t, "PERSIST", key)
		}
	}
	return replies[0]
}

// advance moves the test's clock, and expires the keys whose time has come.
func (r *redisServer) advance(t *testing.T, d time.Duration) {
	t.Helper()
	r.now = r.now.Add(d)
	for key, end := range r.ends {
		if !end.After(r.now) {
			r.do(t, "DEL", key)
			delete(r.ends, key)
		}
	}
}

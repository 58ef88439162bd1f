package server

import (
	"bytes"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/conn/share"
	"github.com/stintdb/stint/server/decider"
)

// loopDecider adds up the work that is decided on the event loop. What is decided beside it is refused, which takes no
// time.
type loopDecider struct {
	decider.Decider
	mu           sync.Mutex
	work, beside int
}

func (d *loopDecider) Decide(b *engine.Batch) bool {
	stack := make([]byte, 8<<10)
	if bytes.Contains(stack[:runtime.Stack(stack, false)], []byte("fairqueue.(*Queue).work")) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.beside++
		for i := range b.Results {
			b.Results[i].Status = engine.Overloaded
		}
		return true
	}
	done := d.Decider.Decide(b)
	for i := range b.Results {
		d.work += store.OpWork + b.Results[i].Work
	}
	return done
}

// hostileLoop is an event loop with forty connections of one user, and one of another.
type hostileLoop struct {
	*sessionPlayer
	passes  share.Passes
	decider *loopDecider
	hostile []*countedReplies
	other   *pipe
}

func newHostileLoop(t *testing.T, p *sessionPlayer) *hostileLoop {
	l := &hostileLoop{sessionPlayer: p, decider: &loopDecider{Decider: p.env.Decider}}
	p.env.Decider = l.decider
	t.Cleanup(func() { p.env.Decider = l.decider.Decider })
	for i := range 40 {
		c := &countedReplies{pipe: l.join("hostile" + string(rune('A'+i)))}
		c.deliver(frames("AUTH mal tea"))
		c.Attach(c, nil)
		l.hostile = append(l.hostile, c)
	}
	l.other = l.join("other")
	return l
}

// countedReplies is a connection whose replies are counted, and not kept.
type countedReplies struct {
	*pipe
	lines int
}

// Write implements [conn.ReplyConn].
func (c *countedReplies) Write(b []byte) (int, error) {
	c.lines += bytes.Count(b, []byte("\r\n"))
	return len(b), nil
}

func (l *hostileLoop) join(name string) *pipe {
	c := l.open(name)
	c.JoinLoop(&l.passes, func() { c.traffic(nil) })
	return c
}

// pass is a pass of the loop, in which all have sent commands. It returns the work that was decided before the other's
// reply.
func (l *hostileLoop) pass(t *testing.T, input []byte) (work int) {
	t.Helper()
	l.decider.work = 0
	l.passes.Begin()
	for _, c := range l.hostile {
		c.traffic(input)
	}
	work = l.decider.work
	l.other.sent.Reset()
	l.other.traffic(frames("PING"))
	if got := l.other.sent.String(); got != "+PONG\r\n" {
		t.Errorf("the other's reply is %q", got)
	}
	return work
}

// end lets all commands end.
func (l *hostileLoop) end() {
	for l.passes.Waits() || l.env.DoesLongWork() {
		l.passes.Begin()
		l.settle()
	}
}

// fillMasters makes the largest value of each group of commands.
func fillMasters(t *testing.T, p *sessionPlayer) {
	t.Helper()
	for _, v := range []struct {
		head string
		n    int
		each string
	}{
		{"HSET big:hash", 60_000, " # 1"}, {"SADD big:set", 90_000, " #"}, {"ZADD big:sorted-set", 40_000, " # #"}, {"RPUSH big:list", 90_000, " #"},
	} {
		line := v.head
		for i := range v.n {
			if line += strings.ReplaceAll(v.each, "#", strconv.Itoa(i)); i%300 == 299 {
				if out := p.do(t, "owner", line); out[0] != ':' {
					t.Fatal(out)
				}
				line = v.head
			}
		}
	}
	p.do(t, "owner", "SETRANGE big:string 1048000 x", "ACL SETUSER mal on >tea ~* &* +@all")
}

// dearestCalls has the most expensive calls of the commands whose example is cheap. K is a key with the largest value,
// and "tiny" a key with little in it. The words after "each" are repeated, and # in them is a number.
var dearestCalls = map[string][]string{
	"hrandfield":       {"K -100000 WITHVALUES", "tiny -100000 WITHVALUES", "K 100000 WITHVALUES"},
	"srandmember":      {"K -100000", "K 100000"},
	"zrandmember":      {"K -100000 WITHSCORES", "K 100000 WITHSCORES"},
	"spop":             {"K 100000", "K 10000"},
	"lpop":             {"K 100000"},
	"rpop":             {"K 100000"},
	"zpopmin":          {"K 100000"},
	"zpopmax":          {"K 100000"},
	"lpos":             {"K 5 COUNT 0", "K nosuch"},
	"lrange":           {"K 0 -1"},
	"lrem":             {"K 0 5"},
	"linsert":          {"K AFTER 89999 x"},
	"zrange":           {"K 0 -1 WITHSCORES", "K [a [b BYLEX"},
	"zrevrange":        {"K 0 -1 WITHSCORES"},
	"zrangebyscore":    {"K -inf +inf WITHSCORES"},
	"zrevrangebyscore": {"K +inf -inf WITHSCORES"},
	"zrangebylex":      {"K - +"},
	"zrevrangebylex":   {"K + -"},
	"zremrangebylex":   {"K - +"},
	"zunion":           {"2 K K WITHSCORES"},
	"zinter":           {"2 K K WITHSCORES"},
	"sinter":           {"K K K"},
	"sunion":           {"K K"},
	"hscan":            {"K 0 COUNT 100000"},
	"sscan":            {"K 0 COUNT 100000"},
	"zscan":            {"K 0 COUNT 100000"},
	"getrange":         {"K 0 -1"},
	"hmget":            {"K each #", "tiny each f"},
	"hdel":             {"K each #"},
	"hset":             {"K each # 1"},
	"sadd":             {"K each #"},
	"srem":             {"K each #"},
	"smismember":       {"K each #"},
	"zadd":             {"K each 1 #"},
	"zrem":             {"K each #"},
	"zmscore":          {"K each #"},
	"lpush":            {"K each #"},
	"mget":             {"each K"},
	"eval":             {"x=1 0"},
}

// dearest returns the lines of the dearest calls of a command, and has their keys hold the largest values.
func dearest(t *testing.T, p *sessionPlayer, row *command.Row) (lines []string) {
	kind := row.Group
	if !strings.Contains(" hash set sorted-set list string ", " "+kind+" ") {
		kind = "set"
	}
	calls := dearestCalls[row.FullName]
	if calls == nil {
		calls = []string{row.Example}
		for _, key := range strings.Fields(row.Example) {
			p.do(t, "owner", "COPY big:"+kind+" "+key+" REPLACE")
		}
	}
	p.do(t, "owner", "COPY big:"+kind+" K REPLACE")
	for _, args := range calls {
		before, each, repeats := strings.Cut(args, "each")
		args = before
		for i := 0; repeats && i < 1000/len(strings.Fields(each)); i++ {
			args += strings.ReplaceAll(each, "#", strconv.Itoa(i))
		}
		lines = append(lines, strings.ReplaceAll(row.FullName, "|", " ")+" "+args)
	}
	return lines
}

// passBound is the most work of a user in a pass: a share, and the batch that used it up.
const passBound = command.MaxBatchWork/4 + command.MaxBatchWork

// Forty connections of a user with the dearest calls of any command on data take bounded work of a pass of their event
// loop, whether they send one or many: another user's command waits no longer.
func TestPassesAreDividedByUsers(t *testing.T) {
	p := newSessionPlayer(t, 0)
	fillMasters(t, p)
	p.do(t, "owner", "HSET tiny f v")
	l := newHostileLoop(t, p)
	seen := 0
	for _, row := range command.All {
		if row.Data == 0 || row.Waits != 0 {
			continue
		}
		for _, line := range dearest(t, p, row) {
			seen++
			l.tryPasses(t, line)
		}
	}
	if seen < 100 || l.decider.beside == 0 {
		t.Errorf("%d commands, %d beside the loop", seen, l.decider.beside)
	}
}

// tryPasses plays two passes for each of several lengths of pipelines; the second begins with a line.
func (l *hostileLoop) tryPasses(t *testing.T, line string) {
	t.Helper()
	for _, n := range []int{1, 4} {
		input := bytes.Repeat(frames(line), n)
		for range 2 {
			if work := l.pass(t, input); work > passBound {
				t.Errorf("%d x %.60s: work of %d in a pass, want at most %d", n, line, work, passBound)
			}
		}
		l.end()
	}
}

// As TestPassesAreDividedByUsers for limiters with the largest state, transactions, and commands that are no
// operations.
func TestOtherPassesAreDivided(t *testing.T) {
	p := newSessionPlayer(t, 0)
	fillMasters(t, p)
	fillSemaphore(p, "full", "%0248d")
	fillLog(p, "log", 20_000)
	l := newHostileLoop(t, p)
	for _, line := range []string{"CC.HOLDERS full", "CC.ACQUIRE full 10000 1h new", "SL.LOG log COUNT 10000", "SL.ACQUIRE log 100000 1h", "RL.INFO full", "TTL full"} {
		l.tryPasses(t, line)
	}
	for _, line := range []string{"HRANDFIELD big:hash -100000 WITHVALUES", "GET big:string", "SMEMBERS big:set", "CC.ACQUIRE full 10000 1h new"} {
		if work := l.pass(t, frames("MULTI", line, line, line, "EXEC")); work > passBound {
			t.Errorf("a transaction of %s: work of %d in a pass, want at most %d", line, work, passBound)
		}
		l.end()
	}
	for line, name := range map[string]string{"SCAN 0 COUNT 10000": "scan", "INFO": "info", "COMMAND DOCS": "command|docs", "ACL LIST": "acl|list"} {
		row := command.All[slices.IndexFunc(command.All, func(r *command.Row) bool { return r.FullName == name })]
		for _, c := range l.hostile {
			c.lines = 0
		}
		l.pass(t, frames(line))
		answered := 0
		for _, c := range l.hostile {
			if c.lines > 0 {
				answered++
			}
		}
		if answered == 0 || (answered-1)*row.Work() > passBound {
			t.Errorf("%s: %d connections were answered in a pass", line, answered)
		}
		l.end()
	}
}

// Commands that cost less than a batch share a pass of their user too, in long pipelines, and each connection of the
// user has its turn.
func TestLightCommandsShareAPass(t *testing.T) {
	p := newSessionPlayer(t, 0)
	p.do(t, "owner", "ACL SETUSER mal on >tea ~* +@all")
	l := newHostileLoop(t, p)
	const n = 3000
	for _, line := range []string{"GET x", "ECHO x", "NOSUCH", "CL.THROTTLE x 15 30 60"} {
		input := bytes.Repeat(frames(line), n)
		for _, c := range l.hostile {
			c.lines = 0
		}
		l.pass(t, input)
		answered := 0
		for _, c := range l.hostile {
			answered += c.lines
		}
		if answered == 0 || answered > 6*2*n {
			t.Errorf("%s: %d lines of replies in a pass", line, answered)
		}
		l.end()
		for i, c := range l.hostile {
			if c.lines < n {
				t.Errorf("%s: connection %d got %d lines of replies", line, i, c.lines)
			}
		}
	}
}

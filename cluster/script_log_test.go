package cluster

import (
	"bytes"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/scriptcache"
)

// gcra admits two requests at once and one every ten seconds: KEYS[1] holds the time until which tokens are taken.
const gcra = `local t = redis.call('TIME')
local now = t[1] + t[2] / 1000000
local tat = math.max(tonumber(redis.call('GET', KEYS[1]) or now), now)
if tat - now > 10 then return {0, tostring(tat - now - 10)} end
redis.call('SET', KEYS[1], tat + 10, 'EX', 60)
return {1, '0'}`

// A script that changes nothing makes no entry of the log, on the leader or forwarded to it, so denials of a GCRA
// script cost none. The first call of a script makes an entry, because its body is kept.
func TestScriptThatChangesNothingMakesNoEntry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		leader := s.leader()
		digest := scriptcache.Digest([]byte(gcra))
		for _, c := range []struct {
			name    string
			op      engine.Op
			entries int64
			reply   string
		}{
			{"a script that is not known", operation("EVALSHA", digest, "1", "k"), 0, "-NOSCRIPT"},
			{"a first grant", operation("EVAL", gcra, "1", "k"), 1, "*2\r\n:1"},
			{"a second grant", operation("EVALSHA", digest, "1", "k"), 1, "*2\r\n:1"},
			{"a denial", operation("EVALSHA", digest, "1", "k"), 0, "*2\r\n:0"},
			{"a denial with the body", operation("EVAL", gcra, "1", "k"), 0, "*2\r\n:0"},
			{"a loaded script", operation("SCRIPT", "LOAD", gcra), 1, "$40"},
			{"a script loaded again", operation("SCRIPT", "LOAD", gcra), 0, "$40"},
			{"a look at the scripts", operation("SCRIPT", "EXISTS", digest), 0, "*1\r\n:1"},
			{"a new script that changes nothing", operation("EVAL", "return 5", "0"), 1, ":5"},
			{"the script again", operation("EVAL", "return 5", "0"), 0, ":5"},
			{"a new read-only script", operation("EVAL_RO", "return 6", "0"), 0, ":6"},
			{"an error before a change", operation("EVALSHA", digest, "0"), 0, "-ERR"},
			{"a denied limiter in a script", operation("EVAL_RO", "return redis.pcall('TB.ACQUIRE', 'full', 1, '1/h').err", "0"),
				0, "$"},
		} {
			n := leader
			if len(c.op.Args)%2 == 0 {
				n = s.nodes[map[string]string{"a": "b", "b": "c", "c": "a"}[leader.opt.Node]]
			}
			before := leader.Group().Status().Entries
			got := do(n, c.op)[0]
			if made := leader.Group().Status().Entries - before; made != c.entries || got.Status != engine.OK ||
				!bytes.HasPrefix(got.Reply, []byte(c.reply)) {
				t.Errorf("%s: %d entries, status %d, %.100q", c.name, made, got.Status, got.Reply)
			}
		}
	})
}

// Long arguments reach the leader, and long replies come back. A call that does not fit an entry, or a frame, is
// refused.
func TestLongScriptsAreForwarded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		leader := s.leader()
		text := string(bytes.Repeat([]byte("x"), engine.MaxValueBytes-100))
		reads := make([]engine.Op, 70)
		for i := range reads {
			reads[i] = operation("GET", "long")
		}
		for name, n := range s.nodes {
			if got := do(n, operation("EVAL", "return redis.call('SET', KEYS[1], ARGV[1])", "1", "long",
				text))[0]; string(got.Reply) != "+OK\r\n" {
				t.Fatalf("%s: status %d, %q", name, got.Status, got.Reply)
			}
			want := fmt.Sprintf("*6\r\n%s", bytes.Repeat(fmt.Appendf(nil, "$%d\r\n%s\r\n", len(text), text), 6))
			if got := do(n, operation("EVAL", "local v = redis.call('GET', KEYS[1]) return {v, v, v, v, v, v}", "1",
				"long"))[0]; string(got.Reply) != want {
				t.Errorf("%s: status %d, %d bytes of %d", name, got.Status, len(got.Reply), len(want))
			}
			tooLong := operation("EVAL", "return redis.call('SET', KEYS[1], #ARGV[1])", "1", "other")
			tooLong.Args = append(tooLong.Args, make([]byte, call.MaxBytes))
			if got := do(n, tooLong)[0]; got.Status != engine.TooBig {
				t.Errorf("%s: a script of more than an entry is answered with status %d", name, got.Status)
			}
			status := engine.OK
			if n != leader {
				status = engine.TooBig
			}
			if got := do(n, reads...)[0]; got.Status != status {
				t.Errorf("%s: replies of more than a frame have status %d", name, got.Status)
			}
			if got := do(n, operation("GET", "other"))[0]; string(got.Reply) != "$-1\r\n" {
				t.Errorf("%s: status %d, %q", name, got.Status, got.Reply)
			}
		}
	})
}

// Nothing comes between the scripts of a transaction, whichever node is asked, and each sees a time of its own.
func TestScriptsInATransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.leader()
		body := "return {redis.call('INCR', KEYS[1]), redis.call('TIME')}"
		for i, name := range s.names {
			ops := []engine.Op{
				operation("SCRIPT", "LOAD", body), operation("EVALSHA", scriptcache.Digest([]byte(body)), "1", "k"),
				operation("EVAL", body, "1", "k"), operation("SCRIPT", "FLUSH"),
				operation("EVALSHA", scriptcache.Digest([]byte(body)), "1", "k"), acquire("k", 10, 1),
			}
			done := make(chan struct{})
			b := &engine.Batch{Ops: ops, Results: make([]engine.Result, len(ops)), Atomic: true, Done: func() { close(done) }}
			if !decide(s.nodes[name], b) {
				<-done
			}
			first, second := string(b.Results[1].Reply), string(b.Results[2].Reply)
			prefix := "*2\r\n:%d\r\n"
			if len(first) < 10 || first[len(fmt.Sprintf(prefix, 1)):] == second[len(fmt.Sprintf(prefix, 1)):] {
				t.Errorf("%s: the same time twice: %q, %q", name, first, second)
			}
			for j, want := range []string{"$40\r\n", fmt.Sprintf(prefix, 2*i+1), fmt.Sprintf(prefix, 2*i+2), "+OK\r\n",
				"-NOSCRIPT"} {
				if res := b.Results[j]; res.Status != engine.OK || !bytes.HasPrefix(res.Reply, []byte(want)) {
					t.Errorf("%s, operation %d: status %d, %q", name, j, res.Status, res.Reply)
				}
			}
			if b.Results[5].Status != engine.WrongType {
				t.Errorf("%s: a limiter on the counter's key has status %d", name, b.Results[5].Status)
			}
		}
	})
}

// A node that is started again knows the cluster's version before it has its log: it forwards scripts at once. A node
// that joins refuses scripts until it knows the version, as a node without a leader does.
func TestScriptsAfterAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		call := operation("EVAL", "return redis.call('INCR', KEYS[1])", "1", "k")
		for range 5 {
			leader := s.leader()
			do(leader, call)
			time.Sleep(3 * time.Second) // the version is saved
			name := leader.opt.Node
			s.kill(name)
			s.leader()
			if got := do(s.start(name), call)[0]; got.Status != engine.OK {
				t.Errorf("after its start %s answers with status %d", name, got.Status)
			}
			time.Sleep(3 * time.Second)
		}
		s.names, s.expect = append(s.names, "d"), 3
		joining := s.start("d")
		for joining.Group().Status().ClusterID == "" {
			if got := do(joining, call)[0]; got.Status != engine.NoLeader && got.Status != engine.OK {
				t.Fatalf("while it joins it answers with status %d", got.Status)
			}
			time.Sleep(time.Millisecond)
		}
		s.mustNotFail()
	})
}

// Which keys a script may not read is decided with the script, whichever node is asked.
func TestScriptsMayChangeAndNotReadOnEveryNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := simulate(t, "a", "b", "c")
		defer s.stop()
		s.leader()
		for _, name := range s.names {
			op := operation("EVAL",
				"redis.call('SET', KEYS[2], 'x') redis.call('SET', KEYS[1], 'y') return {redis.call('GET', KEYS[1]), redis.pcall('GET', KEYS[2]).err}", "2", "open", "closed")
			op.Options |= engine.DeclaredOnly
			op.MarkWriteOnly(1)
			if got := do(s.nodes[name], op)[0]; got.Status != engine.OK || !bytes.HasPrefix(got.Reply,
				[]byte("*2\r\n$1\r\ny\r\n$")) || !bytes.Contains(got.Reply, []byte("can't access")) {
				t.Errorf("%s: status %d, %q", name, got.Status, got.Reply)
			}
		}
	})
}

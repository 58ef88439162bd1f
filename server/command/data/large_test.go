package data_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/algorithm"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

// twins are a store that keeps large values in blocks, one that does not, and one that is made of the journal of the
// first.
type twins struct {
	t                     *testing.T
	r                     *rand.Rand
	blocks, flat, journal *store.Store
	now                   int64
	ids                   int                         // of the last entries of streams
	also                  func(words []string) []byte // another server, if it is not nil
}

func newTwins(t *testing.T, seed uint64) *twins {
	s := &twins{t: t, r: rand.New(rand.NewPCG(seed, 3)), now: 1e18}
	s.blocks = store.New(store.Config{Shards: 4, Commands: &data.Executor{}})
	s.flat = store.New(store.Config{Shards: 4, Commands: &data.Executor{}, Replicated: true})
	s.journal = store.New(store.Config{Shards: 4, Commands: &data.Executor{}})
	s.blocks.Track(true)
	for _, one := range []*store.Store{s.blocks, s.flat, s.journal} {
		t.Cleanup(one.Close)
	}
	return s
}

// do carries out a command on both stores and compares the replies.
func (s *twins) do(words ...string) {
	s.t.Helper()
	s.now += 1000
	got, want := s.reply(s.blocks, words), s.reply(s.flat, words)
	switch words[0] {
	case "HGETALL", "HKEYS", "HVALS": // the order is another
		got, want = sortedLines(got), sortedLines(want)
	}
	if s.also != nil {
		if words[0] == "XINFO" { // its numbers of nodes are not those of Redis
			return
		}
		if other := s.also(words); len(got) == 0 { // the reply is made elsewhere
			want = got
		} else if words[0] == "HGETALL" || words[0] == "HKEYS" || words[0] == "HVALS" || words[0] == "SMEMBERS" || words[0] == "SINTER" || words[0] == "SDIFF" {
			want, got = sortedLines(other), sortedLines(got)
		} else if words[0] != "ZRANGEBYLEX" || words[1][0] == 'e' { // which Redis leaves open where scores differ
			want = other
		}
	}
	if !bytes.Equal(got, want) {
		s.t.Fatalf("%.100q:\n got %.300q\nwant %.300q", words, got, want)
	}
}

func sortedLines(b []byte) []byte {
	lines := bytes.Split(b, []byte("\r\n"))
	slices.SortFunc(lines, bytes.Compare)
	return bytes.Join(lines, []byte("\r\n"))
}

func (s *twins) reply(on *store.Store, words []string) (reply []byte) {
	return carryOut(s.t, on, s.now, words)
}

// carryOut carries out a command.
func carryOut(t testing.TB, on *store.Store, now int64, words []string) (reply []byte) {
	ops := opsOf(t, words)
	results := make([]engine.Result, len(ops))
	on.Apply(now, ops, results)
	for i := range results {
		reply = append(reply, results[i].Reply...)
	}
	return reply
}

// collect carries the changes since the last call over to the store of the journal.
func (s *twins) collect() {
	s.blocks.Changes(s.now, func(c keyspace.Change) {
		switch c.Kind {
		case keyspace.Changed:
			if err := s.journal.Load(s.now, keyspace.Entry{Key: c.Entry.Key, Limit: c.Entry.Limit, State: c.Entry.State}); err != nil {
				s.t.Fatalf("%q: %v", c.Entry.Key, err)
			}
		case keyspace.Deleted:
			s.journal.Unload(c.Entry.Key)
		}
	})
}

// check compares the store of blocks with those that are made of its journal and of a snapshot.
func (s *twins) check() {
	s.t.Helper()
	s.collect()
	copied := store.New(store.Config{Shards: 2, Commands: &data.Executor{}})
	defer copied.Close()
	frozen := s.blocks.Snapshot()
	before := dumpOf(s.blocks, s.now)
	for range 20 { // the snapshot does not see these
		s.change()
	}
	frozen.Scan(s.now, func(e keyspace.Entry) {
		if err := copied.Load(s.now, e); err != nil {
			s.t.Fatalf("%q: %v", e.Key, err)
		}
	})
	frozen.Release()
	if got := dumpOf(copied, s.now); got != before {
		s.t.Fatal("a snapshot has other values")
	}
	if got := dumpOf(s.journal, s.now); got != before {
		s.t.Fatal("the journal has other values")
	}
	for _, one := range []*store.Store{s.blocks, copied, s.journal} {
		if err := one.Check(); err != nil {
			s.t.Fatal(err)
		}
	}
	s.collect()
}

func dumpOf(s *store.Store, now int64) string {
	var b strings.Builder
	s.Dump(now, func(e keyspace.Entry) { fmt.Fprintf(&b, "%q %x\n", e.Key, e.State) })
	return b.String()
}

func (s *twins) key(kind string) string { return fmt.Sprint(kind, s.r.IntN(2)) }

// element is mostly short, and one of few enough to be there often.
func (s *twins) element() string {
	e := fmt.Sprint("element:", s.r.IntN(3000))
	if s.r.IntN(300) == 0 {
		e += strings.Repeat("x", s.r.IntN(3000))
	}
	return e
}

func (s *twins) many(words ...string) []string {
	n := 1 + s.r.IntN(3)
	if s.r.IntN(20) == 0 {
		n = 150
	}
	for range n {
		words = append(words, s.element())
	}
	return words
}

func (s *twins) number(n int) string { return fmt.Sprint(s.r.IntN(n) - n/3) }

func (s *twins) score() string {
	if s.r.IntN(3) == 0 {
		return fmt.Sprint(s.r.NormFloat64() * 1e3)
	}
	return s.number(300)
}

// entry adds an entry to a stream.
func (s *twins) entry(stream string, options ...string) []string {
	s.ids++
	words := append(append([]string{"XADD", stream}, options...), fmt.Sprint(s.ids, "-1"))
	for range 1 + s.r.IntN(3) {
		words = append(words, "field", s.element())
	}
	return words
}

// id is that of a late entry.
func (s *twins) id() string { return fmt.Sprint(s.ids-s.r.IntN(600), "-1") }

// change carries out a random command.
func (s *twins) change() {
	s.t.Helper()
	l, set, h, z, x, e := s.key("l"), s.key("s"), s.key("h"), s.key("z"), s.key("x"), s.key("e")
	pairs := func(words []string, first func() string) []string {
		for range 1 + s.r.IntN(4)*s.r.IntN(12) {
			words = append(words, first(), s.element())
		}
		return words
	}
	from := s.r.IntN(500)
	to := fmt.Sprint(from + s.r.IntN(1+s.r.IntN(40)))
	commands := [][]string{
		s.many("LPUSH", l), s.many("RPUSH", l), {"LPOP", l}, {"RPOP", l, s.number(20)[0:1]}, {"LINDEX", l, s.number(600)}, {"LLEN", l},
		{"LRANGE", l, fmt.Sprint(from), to}, {"LRANGE", l, "-20", "-1"}, {"LINSERT", l, "BEFORE", s.element(), "new"},
		{"LREM", l, s.number(9), s.element()}, {"LMOVE", l, s.key("l"), "LEFT", "RIGHT"}, {"RPOPLPUSH", l, l}, {"LPUSHX", l, "e"},
		s.many("SADD", set), s.many("SADD", set), s.many("SREM", set), {"SISMEMBER", set, s.element()}, {"SCARD", set},
		s.many("SMISMEMBER", set), {"SMEMBERS", set}, {"SINTERCARD", "2", "s0", "s1"}, {"SMOVE", "s0", "s1", s.element()},
		pairs([]string{"HSET", h}, s.element), pairs([]string{"HSET", h}, s.element), s.many("HDEL", h), {"HGET", h, s.element()},
		s.many("HMGET", h), {"HLEN", h}, {"HGETALL", h}, {"HKEYS", h}, {"HVALS", h}, {"HSETNX", h, s.element(), "v"},
		{"HINCRBY", h, "n", "3"}, {"HSTRLEN", h, s.element()}, {"HEXISTS", h, s.element()},
		pairs([]string{"ZADD", z}, s.score), pairs([]string{"ZADD", z, "GT", "CH"}, s.score), s.many("ZREM", z),
		{"ZADD", z, "INCR", s.score(), s.element()}, {"ZINCRBY", z, "2", s.element()}, {"ZSCORE", z, s.element()},
		s.many("ZMSCORE", z), {"ZRANK", z, s.element()}, {"ZREVRANK", z, s.element()}, {"ZCARD", z},
		{"ZCOUNT", z, "(" + s.number(300), s.number(300)}, {"ZRANGE", z, fmt.Sprint(from), to, "WITHSCORES"},
		{"ZREVRANGE", z, fmt.Sprint(from), to}, {"ZRANGEBYSCORE", z, s.number(200), s.number(400), "LIMIT", "2", "9"},
		{"ZREVRANGEBYSCORE", z, s.number(400), "(" + s.number(200), "WITHSCORES", "LIMIT", "1", "-1"},
		{"ZREMRANGEBYSCORE", z, fmt.Sprint(from), to}, {"ZREMRANGEBYRANK", z, fmt.Sprint(from), to}, {"ZPOPMIN", z},
		{"LPOS", l, s.element(), "COUNT", "0"}, {"LPOS", l, s.element(), "RANK", "-1", "MAXLEN", "300"}, {"LINSERT", l, "AFTER", s.element(), "new"},
		{"BLPOP", l, "0.01"}, {"BRPOP", l, "0.01"}, {"BZPOPMIN", z, "0.01"}, {"BZPOPMAX", z, "0.01"},
		{"SINTER", "s0", "s1"}, {"SDIFF", "s0", "s1"}, {"SINTERSTORE", "s2", "s0", "s1"}, {"SMOVE", "s2", "s0", s.element()},
		pairs([]string{"ZADD", e}, func() string { return "7" }), pairs([]string{"ZADD", e}, func() string { return "7" }), {"ZLEXCOUNT", e, "(" + s.element(), "[" + s.element()},
		{"ZRANGEBYLEX", e, "[" + s.element(), "+", "LIMIT", "2", "5"}, {"ZREVRANGEBYLEX", e, "(" + s.element(), "-", "LIMIT", "0", "5"}, {"ZREMRANGEBYLEX", e, "[" + s.element(), "[element:2"},
		s.entry(x), s.entry(x), s.entry(x), s.entry(x, "MAXLEN", "400"), {"XLEN", x}, {"XTRIM", x, "MINID", s.id()},
		{"XDEL", x, s.id(), s.id(), s.id()}, {"XRANGE", x, s.id(), s.id()}, {"XREVRANGE", x, "+", s.id(), "COUNT", "9"},
		{"XREAD", "COUNT", "3", "STREAMS", "x0", "x1", s.id(), s.id()}, {"XINFO", "STREAM", x, "FULL", "COUNT", "2"},
		{"ZPOPMAX", z, "2"}, {"ZRANGEBYLEX", z, "-", "+", "LIMIT", "0", "3"}, {"EXISTS", l, z}, {"TYPE", h}, {"TTL", l},
	}
	if s.r.IntN(400) == 0 {
		commands = [][]string{
			{"DEL", l, set, h, z, x, e}, {"COPY", "x0", "x1", "REPLACE"}, {"XTRIM", x, "MAXLEN", "0"}, {"XSETID", x, fmt.Sprint(s.ids)}, {"EXPIRE", z, "100"}, {"RENAME", "l0", "l1"}, {"COPY", "z0", "z1", "REPLACE"}, {"PERSIST", z},
			{"LTRIM", l, "10", "300"}, {"SUNIONSTORE", "s0", "s1"}, {"LSET", l, "5", s.element()},
		}
	}
	s.do(commands[s.r.IntN(len(commands))]...)
}

// Each command has the same reply from a value in blocks as from flat bytes, at all sizes around the borders of blocks,
// and what the journal and a snapshot have is the same value.
func TestLargeValuesAreAsFlatOnes(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for seed := range uint64(rounds) {
		s := newTwins(t, seed)
		for step := range 4_000 {
			s.change()
			if step%500 == 499 {
				s.check()
			} else if step%37 == 0 {
				s.collect()
			}
		}
		for _, key := range []string{"l0", "l1", "s0", "s1", "h0", "h1", "z0", "z1", "x0", "x1", "e0", "e1", "s2"} {
			s.do("DEL", key)
		}
		s.check()
	}
}

// A command on a key of another kind has one reply, an error, whichever of its keys are in blocks.
func TestLargeValuesAmongOtherKinds(t *testing.T) {
	s := newTwins(t, 1)
	s.do("SET", "text", "5")
	keys := []string{"text", "none"}
	for _, size := range []int{3, 3_000} {
		for line, each := range map[string]func(i int) []string{"RPUSH l": number, "SADD s": number, "HSET h": pair, "ZADD z": reversedPair} {
			add := strings.Fields(line + strconv.Itoa(size))
			s.do(append(add, words(0, size, each)...)...)
			keys = append(keys, add[1])
		}
	}
	slices.Sort(keys)
	for _, one := range keys {
		for _, other := range keys {
			for _, line := range []string{
				"SMOVE %s %s 1", "LMOVE %s %s LEFT RIGHT", "RPOPLPUSH %s %s", "BLMOVE %s %s LEFT LEFT 1", "BRPOPLPUSH %s %s 1", "SINTER %s %s", "SDIFF %s %s", "SINTERCARD 2 %s %s",
				"SUNIONSTORE to %s %s", "SINTERSTORE to %s %s", "SDIFFSTORE to %s %s", "ZUNIONSTORE to 2 %s %s", "ZINTERSTORE to 2 %s %s", "BLPOP %s %s 1", "BZPOPMIN %s %s 1",
				"LINSERT %s BEFORE 1 2", "LPOS %s 2", "LPOP %s", "SADD %s 2", "SREM %s 2", "ZADD %s 1 2", "ZREM %s 2", "ZLEXCOUNT %s - +", "ZCOUNT %s 1 2", "ZREMRANGEBYLEX %s [1 [1", "ZREMRANGEBYRANK %s 1 1", "OBJECT ENCODING %s",
			} {
				used := []any{one, other}[:strings.Count(line, "%s")]
				if len(used) == 2 || one == other {
					s.do(strings.Fields(fmt.Sprintf(line, used...))...)
				}
			}
		}
	}
}

// words concatenates what each returns for n numbers.
func words(from, n int, each func(i int) []string) (all []string) {
	for i := from; i < from+n; i++ {
		all = append(all, each(i)...)
	}
	return all
}

func number(i int) []string { return []string{strconv.Itoa(i)} }

func pair(i int) []string { return []string{strconv.Itoa(i), "1"} }

func reversedPair(i int) []string { return []string{"1", strconv.Itoa(i)} }

// A command that takes constant or logarithmic time in Redis takes no more work in a value of ten times as many elements.
func TestWorkDoesNotGrowWithLargeValues(t *testing.T) {
	workOf := func(members int) (work map[string]int) {
		s := &dataStore{store.New(store.Config{Shards: 4, Commands: &data.Executor{}}), t}
		defer s.Close()
		for _, fill := range []struct {
			line string
			each func(i int) []string
		}{
			{"RPUSH l", number}, {"RPUSH l2", number}, {"SADD s", number}, {"SADD s2", number}, {"HSET h", pair},
			{"ZADD z", reversedPair}, {"ZADD z2", func(i int) []string { return []string{strconv.Itoa(i), strconv.Itoa(i)} }},
		} {
			s.do(fill.line, words(0, members, fill.each)...)
		}
		for i := range members {
			s.do(fmt.Sprintf("XADD x %d-1 field value", i+1))
		}
		s.do("SADD few 5 6 7")
		work = map[string]int{}
		for _, line := range []string{
			"LPUSH l a", "RPUSH l a", "LPUSHX l a", "LPOP l", "RPOP l 5", "LINDEX l 2000", "LRANGE l 2000 2009", "LLEN l", "LSET l 9 a", "LINSERT l AFTER 50 a", "LPOS l 50",
			"LPOS l none MAXLEN 50", "LPOS l none RANK -1 MAXLEN 50", "LTRIM l 1 -2", "LMOVE l l2 LEFT RIGHT", "RPOPLPUSH l l", "BLPOP l 1", "BRPOP l 1", "BLMOVE l l2 LEFT LEFT 1", "BRPOPLPUSH l l2 1",
			"SADD s a", "SREM s a 7", "SISMEMBER s 5", "SMISMEMBER s 5 6", "SCARD s", "SPOP s", "SPOP s 5", "SRANDMEMBER s", "SRANDMEMBER s 5", "SRANDMEMBER s -5", "SMOVE s s2 8", "SMOVE few s2 7",
			"SINTER s few", "SINTERCARD 2 few s LIMIT 1", "SINTERSTORE to s few", "SDIFF few s", "SDIFFSTORE to few s",
			"HSET h a 1", "HSETNX h b 1", "HGET h 5", "HMGET h 5 6", "HINCRBY h 5 1", "HINCRBYFLOAT h 5 1", "HDEL h 5", "HLEN h", "HEXISTS h 6", "HSTRLEN h 6", "HRANDFIELD h 5",
			"ZADD z 1 a", "ZADD z2 GT CH 1000000 7", "ZINCRBY z2 1 8", "ZREM z 5", "ZSCORE z 6", "ZMSCORE z 6 7", "ZCARD z", "ZRANK z2 9", "ZREVRANK z2 9", "ZCOUNT z2 5 900", "ZLEXCOUNT z - +",
			"ZRANGE z2 2000 2009 WITHSCORES", "ZREVRANGE z2 0 9", "ZRANGE z2 2000 +inf BYSCORE LIMIT 0 5", "ZRANGEBYSCORE z2 2000 2005", "ZREVRANGEBYSCORE z2 2005 2000", "ZRANGEBYLEX z (5 + LIMIT 5 5",
			"ZREVRANGEBYLEX z [5 [4 LIMIT 0 9", "ZREMRANGEBYRANK z2 5 9", "ZREMRANGEBYSCORE z2 2000 2003", "ZREMRANGEBYLEX z [70 [700", "ZPOPMIN z", "ZPOPMAX z 5", "BZPOPMIN z 1", "BZPOPMAX z 1", "ZRANDMEMBER z 5",
			"XADD x MAXLEN 1000000 100000-1 f v", "XLEN x", "XDEL x 50-1", "XRANGE x 2000 2005", "XREVRANGE x + - COUNT 5", "XREAD COUNT 5 STREAMS x 99", "XTRIM x MINID 9", "XSETID x 200000-1", "XINFO STREAM x",
			"TYPE l", "EXISTS l", "TTL l", "EXPIRE l 1000", "PERSIST l", "OBJECT ENCODING h", "OBJECT REFCOUNT z", "OBJECT IDLETIME s",
		} {
			reply := s.run(line)
			if reply.Status != engine.OK || len(reply.Reply) > 0 && reply.Reply[0] == '-' {
				t.Fatalf("%s: %s", line, reply.Reply)
			}
			work[line] = reply.Work
			args := bytes.Fields([]byte(line))
			row, _ := command.Find(args)
			if most, ok := row.WeighUnseen(args); ok && reply.Work > most {
				t.Errorf("%s: a work of %d, and %d is the most that is expected", line, reply.Work, most)
			}
		}
		return work
	}
	few, many := workOf(3_000), workOf(30_000)
	for line, work := range many {
		if work > few[line]*3/2 {
			t.Errorf("%s: a work of %d in 30,000 elements, and of %d in 3,000", line, work, few[line])
		}
	}
}

// All blocks are given back when their keys are deleted, expire or are flushed, and a key with a value in blocks counts
// as one key.
func TestBlocksAreGivenBack(t *testing.T) {
	for name, drop := range map[string]func(s *store.Store){
		"deleted": func(s *store.Store) { carryOut(t, s, 1e18, []string{"DEL", "l", "s", "h", "z", "x"}) },
		"emptied": func(s *store.Store) {
			for _, words := range [][]string{{"LPOP", "l", "99999"}, {"LTRIM", "l", "1", "0"}, {"SPOP", "s", "99999"}, {"ZREMRANGEBYRANK", "z", "0", "-1"}, {"DEL", "h", "x"}} {
				carryOut(t, s, 1e18, words)
			}
		},
		"expired": func(s *store.Store) {
			for _, key := range []string{"l", "s", "h", "z", "x"} {
				carryOut(t, s, 1e18, []string{"EXPIRE", key, "1"})
			}
			s.Sweep(1e18+5e9, 1<<20)
		},
		"flushed": func(s *store.Store) {
			s.Apply(1e18, []engine.Op{{Verb: engine.Flush}}, make([]engine.Result, 1))
		},
	} {
		s := store.New(store.Config{Shards: 4, Commands: &data.Executor{}})
		for i := range 5000 {
			for _, words := range [][]string{list(i), set(i), hash(i), zset(i), {"XADD", "x", fmt.Sprint(i + 1), "field", "value"}} {
				carryOut(t, s, 1e18, words)
			}
		}
		if s.Len() != 5 || s.Bytes() < 5000*4*17 {
			t.Fatalf("%d keys in %d bytes", s.Len(), s.Bytes())
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		drop(s)
		s.Sweep(1e18+5e9, 1<<20)
		if s.Len() != 0 || s.Bytes() > 64<<10 {
			t.Errorf("%s: %d keys in %d bytes are left", name, s.Len(), s.Bytes())
		}
		s.Close()
	}
}

// When the journal may have lost changes, it gets the whole of each value that changes next.
func TestLostChangesAreWrittenWhole(t *testing.T) {
	s := newTwins(t, 9)
	for i := range 1000 {
		s.do(list(i)...)
	}
	s.collect()
	forms := func() (all []algorithm.Form) {
		s.do("LPUSH", "l", "x")
		s.blocks.Changes(s.now, func(c keyspace.Change) { all = append(all, algorithm.FormOf(c.Entry.State)) })
		return all
	}
	if got := forms(); !slices.Equal(got, []algorithm.Form{algorithm.Log}) {
		t.Errorf("the journal gets the forms %v", got)
	}
	s.do("LPUSH", "l", "lost")
	store.ForgetJournaled(s.blocks)
	if got := forms(); !slices.Equal(got, []algorithm.Form{algorithm.Whole}) {
		t.Errorf("after a loss the journal gets the forms %v", got)
	}
	if got := forms(); !slices.Equal(got, []algorithm.Form{algorithm.Log}) {
		t.Errorf("after the whole value the journal gets the forms %v", got)
	}
}

// Random elements of values in blocks are elements of them, different ones if the count is not negative.
func TestRandomElementsOfLargeValues(t *testing.T) {
	s := store.New(store.Config{Shards: 4, Commands: &data.Executor{}})
	defer s.Close()
	for i := range 3000 {
		for _, words := range [][]string{set(i), hash(i), zset(i)} {
			carryOut(t, s, 1e18, words)
		}
	}
	for _, words := range [][]string{{"SRANDMEMBER", "s"}, {"HRANDFIELD", "h"}, {"ZRANDMEMBER", "z"}} {
		for count, want := range map[string]int{"": 1, "20": 20, "-20": 20, "5000": 3000} {
			call := words
			if count != "" {
				call = append(slices.Clone(words), count)
			}
			reply := string(carryOut(t, s, 1e18, call))
			seen := map[string]bool{}
			for _, line := range strings.Split(reply, "\r\n") {
				if strings.HasPrefix(line, "element:") {
					seen[line] = true
				}
			}
			if n := strings.Count(reply, "element:"); n != want || count != "-20" && len(seen) != want || len(seen) < want/2 {
				t.Errorf("%s: %d elements, %d of them different", call, n, len(seen))
			}
		}
	}
}

// Keys are known to have no long elements until one has, also in a store made of the journal, and after it is gone.
func TestLongElementsAreNoticed(t *testing.T) {
	s := newTwins(t, 1)
	fill := []string{"RPUSH", "l"}
	for range 500 {
		fill = append(fill, strings.Repeat("x", 20))
	}
	for _, step := range []struct {
		words []string
		want  bool
	}{
		{fill, false},
		{[]string{"LSET", "l", "5", strings.Repeat("y", 1000)}, false},
		{[]string{"LSET", "l", "6", strings.Repeat("z", 2000)}, true},
		{[]string{"LPUSH", "l", "short"}, true},
		{[]string{"DEL", "l"}, false},
		{fill, false},
		{[]string{"SET", "l", strings.Repeat("x", 100_000)}, true},
		{[]string{"SET", "l", "short"}, false},
		{[]string{"DEL", "l"}, false},
		{[]string{"HSET", "l", "field", strings.Repeat("x", 10_000)}, true},
	} {
		s.do(step.words...)
		s.collect()
		op := opsOf(t, []string{"LPOP", "l"})
		for _, one := range []*store.Store{s.blocks, s.journal} {
			one.Sweep(s.now, 100) // gives the memory of a large value back
		}
		if got, loaded := s.blocks.MayBeLarge(&op[0], true), s.journal.MayBeLarge(&op[0], true); got != step.want || loaded != step.want {
			t.Errorf("after %.30q: %v, and from the journal %v", step.words, got, loaded)
		}
		if !s.flat.MayBeLarge(&op[0], true) {
			t.Error("without blocks, an element may be as long as its value, which is copied")
		}
	}
}

// A reply with a long element of a value in blocks is foreseen, so that few of them are made at a time.
func TestLongElementsAreForeseen(t *testing.T) {
	s := store.New(store.Config{Shards: 4, Commands: &data.Executor{}})
	defer s.Close()
	long := strings.Repeat("x", 60_000)
	for i := range 1000 {
		for _, line := range [][]string{list(i), set(i), hash(i), zset(i)} {
			carryOut(t, s, 1e18, line)
		}
	}
	for _, line := range [][]string{{"RPUSH", "l", long}, {"SADD", "s", long}, {"HSET", "h", "f", long}, {"ZADD", "z", "1", long}} {
		carryOut(t, s, 1e18, line)
	}
	for _, line := range []string{"LINDEX l -1", "LRANGE l -1 -1", "LMOVE l l RIGHT RIGHT", "SRANDMEMBER s", "HGET h f", "ZRANGE z -1 -1", "ZRANGEBYSCORE z 1 1 LIMIT 0 1"} {
		ops := opsOf(t, strings.Fields(line))
		row, err := command.Find(ops[0].Args)
		if err != nil {
			t.Fatal(err)
		}
		if got := row.ReplyBytes(s.Weigh(ops)); got < len(long) || got > 8*len(long) {
			t.Errorf("%s: %d bytes of a reply are foreseen", line, got)
		}
	}
}

package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/server/config"
)

const databases = 16

// apart is a server with several databases, and one server for each of them, which is asked the same.
type apart struct {
	*rand.Rand
	one      *sessionPlayer
	several  [databases]*sessionPlayer
	selected int
}

func newApart(t *testing.T, seed uint64) *apart {
	a := &apart{Rand: rand.New(rand.NewPCG(seed, 0)), one: newSessionPlayer(t, 0)}
	for i := range a.several {
		a.several[i] = newSessionPlayer(t, 0)
	}
	return a
}

// key is one of a few, some of which begin as the names of keys in databases.
func (a *apart) key() string {
	return a.pick("a", "b", "c:1", "c:2", "", "\xffdb", "\xffdb\x01a", "\xffdb\x00a", "\xff")
}

func (a *apart) pick(from ...string) string { return from[a.IntN(len(from))] }

// words are those of a command that is answered alike where its keys are the only ones.
func (a *apart) words() []string {
	k, limit := a.key(), fmt.Sprint(1+a.IntN(3))
	switch a.IntN(24) {
	case 0:
		return []string{"SET", k, fmt.Sprint(a.IntN(9))}
	case 1:
		return []string{"SET", k, "x", "PX", fmt.Sprint(1000 * (1 + a.IntN(5)))}
	case 2:
		return []string{"GET", k}
	case 3:
		return []string{"INCR", k}
	case 4:
		return []string{"DEL", k, a.key()}
	case 5:
		return []string{"EXISTS", k, a.key(), k}
	case 6:
		return []string{"PTTL", k}
	case 7:
		return []string{"TYPE", k}
	case 8:
		return []string{"RENAME", k, a.key()}
	case 9:
		return []string{"HSET", k, "f", a.pick("1", "2")}
	case 10:
		return []string{"SUNIONSTORE", k, a.key(), a.key()}
	case 11:
		return []string{"TB.ACQUIRE", k, limit, "1/s", a.pick("1", "2")}
	case 12:
		return []string{"CL.THROTTLE", k, limit, "5", "60"}
	case 13:
		return []string{"CC.ACQUIRE", k, limit, "5s", a.pick("x", "y")}
	case 14:
		return []string{"CC.RELEASE", k, a.pick("x", "y")}
	case 15:
		return []string{"RL.ALL", "TB", k, limit, "1/s", "FW", a.key(), limit, "10s", "AS", a.key(), "FOR", "20s"}
	case 16:
		return []string{"RL.SETTLE", k, a.pick("0", "1", "2")}
	case 17:
		return []string{"RL.INFO", k}
	case 18:
		return []string{"RL.LEND", k, "TB", limit, "1/s", "1", "holder", fmt.Sprint(1 + a.IntN(1000)), "0", "LEFT", "0"}
	case 19:
		return []string{"EVAL", "redis.call('SET', KEYS[1], ARGV[1]) return {redis.call('GET', KEYS[2]), redis.call('DBSIZE'), redis.call('KEYS', '*')}", "2", k, a.key(), "v"}
	case 20:
		return []string{"EVAL", "return redis.call('TB.ACQUIRE', KEYS[1], 3, '1/s')", "1", k}
	case 21:
		return []string{"MEMORY", "USAGE", k}
	case 22:
		return []string{"DBSIZE"}
	}
	return []string{"KEYS", "*"}
}

// ask asks both sides, and returns their replies, lists of keys in order.
func (a *apart) ask(words ...string) (one, several string) {
	one, several = a.one.doWords(words...), a.several[a.selected].doWords(words...)
	switch words[0] {
	case "KEYS": // the shards are in another order
		return inOrder(one), inOrder(several)
	case "MEMORY", "DBSIZE": // a name has more bytes; expired keys count until they are dropped, which depends on where they lie
		return anyNumber(one), anyNumber(several)
	}
	return one, several
}

// doWords executes one command on a connection, and returns the reply.
func (p *sessionPlayer) doWords(words ...string) string {
	c := p.conns["client"]
	if c == nil {
		c = p.open("client")
	}
	c.sent.Reset()
	c.deliver(frame(words...))
	return c.sent.String()
}

func inOrder(reply string) string {
	lines := strings.Split(reply, "\r\n")
	slices.Sort(lines)
	return strings.Join(lines, "\r\n")
}

func anyNumber(reply string) string {
	if strings.HasPrefix(reply, ":") {
		return ":"
	}
	return reply
}

// Databases are like as many servers: random commands on data and limiters are answered alike.
func TestDatabasesAreLikeServers(t *testing.T) {
	seed := testsize.Seed()
	a := newApart(t, seed)
	for n := range testsize.Pick(20_000, 200_000) {
		switch a.IntN(40) {
		case 0:
			d := time.Duration(a.IntN(2000)) * time.Millisecond
			a.one.Advance(d)
			for _, p := range a.several {
				p.Advance(d)
			}
		case 1, 2, 3, 4:
			a.selected = a.IntN(databases)
			a.one.doWords("SELECT", fmt.Sprint(a.selected))
		case 5:
			if a.IntN(4) == 0 {
				a.one.doWords("FLUSHALL")
				for _, p := range a.several {
					p.doWords("FLUSHALL")
				}
			}
		case 6:
			if one, several := a.ask("FLUSHDB"); one != several {
				t.Fatalf("FLUSHDB: %q and %q", one, several)
			}
		case 7:
			a.transaction(t, seed, n)
		case 8:
			if got := a.scan(t); !slices.Equal(got, inScanOrder(a.several[a.selected].doWords("KEYS", "*"))) {
				t.Fatalf("seed %d, command %d: SCAN in database %d finds %q", seed, n, a.selected, got)
			}
		default:
			words := a.words()
			if one, several := a.ask(words...); one != several {
				t.Fatalf("seed %d, command %d: %q in database %d is answered with %q, and by a server alone with %q", seed, n, words, a.selected, one, several)
			}
		}
	}
}

// transaction has the same commands in several databases as one transaction and as one for each.
func (a *apart) transaction(t *testing.T, seed uint64, n int) {
	a.one.doWords("MULTI")
	want := []string{}
	for range 1 + a.IntN(5) {
		if a.IntN(2) == 0 {
			a.selected = a.IntN(databases)
			a.one.doWords("SELECT", fmt.Sprint(a.selected))
			want = append(want, "+OK\r\n")
		}
		words := []string{"DBSIZE"} // answered at the end, by the databases as they are then
		for words[0] == "DBSIZE" || words[0] == "KEYS" || words[0] == "MEMORY" {
			words = a.words()
		}
		a.one.doWords(words...)
		want = append(want, a.several[a.selected].doWords(words...))
	}
	got := a.one.doWords("EXEC")
	if want := fmt.Sprintf("*%d\r\n%s", len(want), strings.Join(want, "")); got != want {
		t.Fatalf("seed %d, command %d: a transaction is answered with %q, and by servers alone with %q", seed, n, got, want)
	}
}

// scan is the keys that SCAN finds in the selected database, in order.
func (a *apart) scan(t *testing.T) (keys []string) {
	cursor := "0"
	for range 1000 {
		lines := strings.Split(a.one.doWords("SCAN", cursor, "COUNT", "2"), "\r\n")
		cursor = lines[2]
		for i := 5; i < len(lines); i += 2 {
			keys = append(keys, lines[i])
		}
		if cursor == "0" {
			slices.Sort(keys)
			return keys
		}
	}
	t.Fatal("SCAN does not end")
	return nil
}

// inScanOrder is the keys of a reply to KEYS, in order.
func inScanOrder(reply string) (keys []string) {
	lines := strings.Split(reply, "\r\n")
	for i := 2; i < len(lines); i += 2 {
		keys = append(keys, lines[i])
	}
	slices.Sort(keys)
	return keys
}

// A node of a cluster has database 0 alone, and answers as one of Redis Cluster does.
func TestClusterHasOneDatabase(t *testing.T) {
	p := newSessionPlayer(t, 0)
	p.env.Cluster = &fakeCluster{status: threeNodes("b")}
	for _, c := range []struct{ command, want string }{
		{"SELECT 0", "+OK\r\n"},
		{"SELECT 1", "-ERR SELECT is not allowed in cluster mode\r\n"},
		{"SELECT 99", "-ERR SELECT is not allowed in cluster mode\r\n"},
		{"SELECT x", "-ERR value is not an integer or out of range\r\n"},
		{"SWAPDB 0 1", "-ERR SWAPDB is not allowed in cluster mode\r\n"},
	} {
		if got := p.do(t, "client", c.command); got != c.want {
			t.Errorf("%s: %q, not %q", c.command, got, c.want)
		}
	}
}

// Permissions are on keys in every database, and nothing that shows keys shows names.
func TestNamesOfKeysAreNotShown(t *testing.T) {
	p := newSessionPlayer(t, 0, func(c *config.Config) { c.SlowlogMicros = 0 })
	p.do(t, "owner", "ACL SETUSER me nopass on +@all -@dangerous ~mine:*", "SELECT 3", "SET other 1", "SET mine:k 1", "TB.ACQUIRE theirs 5 1/d AS their:id FOR 1h",
		"TB.ACQUIRE theirs 5 1/d AS mine:id FOR 1h", "TB.ACQUIRE mine:l 1 1/d", "TB.ACQUIRE mine:l 1 1/d", "RL.ALL TB mine:l 1 1/d", "CC.ACQUIRE mine:c 1 1h x",
		"RL.ALL TB mine:x 1 1/d AS mine:id FOR 1h")
	for _, c := range []struct{ command, want string }{
		{"AUTH me x", "+OK\r\n"},
		{"SELECT 3", "+OK\r\n"},
		{"GET mine:k", "$1\r\n1\r\n"},
		{"GET other", "-NOPERM No permissions to access a key\r\n"},
		{"TB.ACQUIRE other 1 1/d", "-NOPERM No permissions to access a key\r\n"},
		{"MOVE other 4", "-NOPERM No permissions to access a key\r\n"},
		{"MOVE mine:k 4", ":1\r\n"},
		{"SELECT 4", "+OK\r\n"},
		{"EVAL redis.call('SELECT',3)return(redis.call('GET','other')) 0", "The user executing the script can't access at least one of the keys"},
		{"EVAL return(redis.call('GET',KEYS[1])) 1 mine:k", "$1\r\n1\r\n"},
		{"SCAN 0 COUNT 1000", "*2\r\n$1\r\n0\r\n*1\r\n$6\r\nmine:k\r\n"},
		{"RANDOMKEY", "$6\r\nmine:k\r\n"},
		{"SELECT 3", "+OK\r\n"},
		{"RL.SETTLE mine:id 0", "-NOPERM No permissions to access a key\r\n"},
	} {
		if got := p.do(t, "me", c.command); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, not %q", c.command, got, c.want)
		}
	}
	shown := p.do(t, "owner", "RL.TOP", "ACL LOG", "SLOWLOG GET 100", "CLIENT LIST", "INFO all", "RL.INFO mine:l", "RL.LENT mine:l", "COMMAND GETKEYS GET \xffdb\x01k")
	for _, want := range []string{"\r\nmine:l\r\n", "\r\ntheirs\r\n", "db=3 ", "db3:keys="} {
		if !strings.Contains(shown, want) {
			t.Errorf("%q is not in what is shown: %.9000q", want, shown)
		}
	}
	if strings.Contains(shown, "\xffdb\x03") {
		t.Errorf("a name is shown: %.9000q", shown)
	}
	r := p.MetricsSnapshot()
	for _, d := range r.TopDenied {
		if d.Key != "mine:l" {
			t.Errorf("the metric shows %q", d.Key)
		}
	}
	if r.DatabaseKeys[0] != 0 || r.DatabaseKeys[3] == 0 || r.DatabaseKeys[4] != 1 {
		t.Errorf("keys by database: %d", r.DatabaseKeys)
	}
}

// A quota of keys counts those of all databases: another one is no way around it.
func TestQuotasCountAllDatabases(t *testing.T) {
	p := newSessionPlayer(t, 0, func(c *config.Config) {
		c.PrefixQuotas, c.WhenFull = []config.PrefixQuota{{Prefix: "u:", MaxKeys: 2}}, "deny-new"
	})
	got := p.do(t, "client", "SET u:1 x", "SELECT 1", "SET u:1 x", "SET u:2 x", "SET v 1", "SELECT 2", "TB.ACQUIRE u:1 5 1/s", "SELECT 1", "FLUSHDB", "SELECT 2", "TB.ACQUIRE u:1 5 1/s")
	if !strings.Contains(got, "+OK\r\n+OK\r\n+OK\r\n-OOM ") || strings.Count(got, "-OOM ") != 2 || !strings.HasSuffix(got, "*5\r\n:1\r\n:5\r\n:4\r\n:0\r\n:1000\r\n") {
		t.Errorf("%q", got)
	}
}

// Without room, the new keys of one prefix share a limiter in each database.
func TestSharedLimitersAreThoseOfADatabase(t *testing.T) {
	p := newSessionPlayer(t, 0, func(c *config.Config) { c.PrefixQuotas = []config.PrefixQuota{{Prefix: "u:", MaxKeys: 1}} })
	got := p.do(t, "client", "SET u:0 x", "TB.ACQUIRE u:1 1 1/d", "TB.ACQUIRE u:2 1 1/d", "SELECT 1", "TB.ACQUIRE u:1 1 1/d", "TB.ACQUIRE u:2 1 1/d",
		"FLUSHDB", "TB.ACQUIRE u:1 1 1/d", "SELECT 0", "TB.ACQUIRE u:2 1 1/d")
	granted := []bool{}
	for _, reply := range strings.Split(got, "*5\r\n")[1:] {
		granted = append(granted, strings.HasPrefix(reply, ":1\r\n"))
	}
	if want := []bool{true, false, true, false, true, false}; !slices.Equal(granted, want) {
		t.Errorf("granted %t, not %t: %q", granted, want, got)
	}
}

// The quota of the last user that has one ends with the user.
func TestLastQuotaEnds(t *testing.T) {
	p := newSessionPlayer(t, 0)
	quotas := func() (names []string) {
		p.keys.QuotaCounts(func(q admission.Quota, _ int64) { names = append(names, q.Name) })
		return names
	}
	if p.doWords("ACL", "SETUSER", "one", "on", "nopass", "~u:*", "+@all", "max-keys=3"); len(quotas()) != 1 {
		t.Fatalf("the quotas are %v", quotas())
	}
	if p.doWords("ACL", "DELUSER", "one"); len(quotas()) != 0 {
		t.Errorf("without the user the quotas are %v", quotas())
	}
}

package data_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

const dataEpoch = int64(1_800_000_000_000_000_000)

// doAt executes a command at a time, and returns its reply with a blank between its elements.
func doAt(s *store.Store, at int64, words ...string) string {
	op := engine.Op{Verb: engine.Command}
	for _, w := range words {
		op.Args = append(op.Args, []byte(w))
	}
	row, err := command.Find(op.Args)
	if err != nil {
		return "-" + err.Error()
	}
	keys := row.Keys.Of(op.Args)
	op.KeyFrom, op.KeyCount = uint32(keys.From), uint32(keys.To-keys.From)
	results := make([]engine.Result, 1)
	s.Apply(at, []engine.Op{op}, results)
	return strings.TrimSpace(strings.NewReplacer("\r\n", " ", ":", "").Replace(string(results[0].Reply)))
}

func newNumberStore(t testing.TB) *store.Store {
	s := store.New(store.Config{Shards: 4, Commands: &data.Executor{}})
	t.Cleanup(s.Close)
	return s
}

// A call is a command on the key k, and its reply.
type keyCall struct {
	waits int64 // milliseconds before the call
	words string
	want  string
}

// playCalls makes calls on a fresh key.
func playCalls(t *testing.T, calls []keyCall) {
	t.Helper()
	s, at := newNumberStore(t), dataEpoch+999_999 // a part of a millisecond does not count
	for _, c := range calls {
		at += c.waits * 1e6
		words := strings.Fields(c.words)
		words = append([]string{words[0], "k"}, words[1:]...)
		if got := doAt(s, at, words...); got != c.want {
			t.Errorf("%v\nof %q: %q, want %q", calls, words, got, c.want)
		}
	}
}

// The replies follow the arithmetic in Redis's source.
func TestGCRA(t *testing.T) {
	for _, calls := range [][]keyCall{
		{{0, "GCRA 5 10 60", "*5 0 6 5 -1 6"}, {0, "PTTL", "6000"}, {0, "TYPE", "+gcra"}},
		{{0, "GCRA 2 1 60", "*5 0 3 2 -1 60"}, {0, "GCRA 2 1 60", "*5 0 3 1 -1 120"}, {0, "GCRA 2 1 60", "*5 0 3 0 -1 180"}, {0, "GCRA 2 1 60", "*5 1 3 0 60 180"}},
		{{0, "GCRA 5 10 60 TOKENS 7", "*5 1 6 6 -1 0"}, {0, "EXISTS", "0"}, {0, "GCRA 5 10 60 TOKENS 6", "*5 0 6 0 -1 36"}, {0, "GCRA 5 10 60", "*5 1 6 0 6 36"}, {0, "GCRA 5 10 60 tokens 7", "*5 1 6 0 -1 36"}},
		{{0, "GCRA 0 1 1", "*5 0 1 0 -1 1"}, {0, "GCRA 0 1 1", "*5 1 1 0 1 1"}, {1000, "GCRA 0 1 1", "*5 0 1 0 -1 1"}},
		{{0, "GCRA 0 3 1", "*5 0 1 0 -1 1"}, {0, "PTTL", "333"}, {333, "GCRA 0 3 1", "*5 1 1 0 1 1"}, {0, "PTTL", "0"}, {0, "EXISTS", "1"}, {1, "EXISTS", "0"}, {0, "GCRA 0 3 1", "*5 0 1 0 -1 1"}},
		{{0, "GCRA 1 1 0.5", "*5 0 2 1 -1 1"}, {0, "GCRA 1 1 0.5", "*5 0 2 0 -1 1"}, {0, "GCRA 1 1 0.5", "*5 1 2 0 1 1"}},
		{
			{0, "GCRA 4 5 10 NUM_REQUESTS 3", "*5 0 5 2 -1 6"}, {0, "GCRA 4 5 10 TOKENS 3", "*5 1 5 2 2 6"}, {0, "GCRA 4 5 10 TOKENS 2", "*5 0 5 0 -1 10"},
			{2000, "GCRA 4 5 10 TOKENS 3", "*5 1 5 1 4 8"}, {4000, "GCRA 4 5 10 TOKENS 3", "*5 0 5 0 -1 10"},
		},
		{
			{0, "GCRA 5 1 60", "*5 0 6 5 -1 60"}, {0, "GCRA 5 1 60", "*5 0 6 4 -1 120"}, {0, "GCRA 5 1 60", "*5 0 6 3 -1 180"},
			{0, "GCRA 1 1 60", "*5 1 2 0 120 180"}, {0, "GCRA 5 1 30", "*5 1 6 0 30 180"}, {0, "GCRA 5 10 60", "*5 1 6 0 150 180"},
		},
		{{0, "GCRA 5 1 60", "*5 0 6 5 -1 60"}, {0, "GCRA 5 1 60 TOKENS 4", "*5 0 6 1 -1 300"}},
		{{0, "GCRASETVALUE 1800000030000000", "+OK"}, {0, "PTTL", "30000"}, {0, "TYPE", "+gcra"}, {0, "GCRA 0 1 60", "*5 1 1 0 30 30"}, {0, "GCRASETVALUE 1799999999999999", "+OK"}, {0, "EXISTS", "0"}},
		{{0, "GCRASETVALUE 0", "+OK"}, {0, "EXISTS", "0"}, {0, "GCRASETVALUE x", "-ERR Invalid TaT value"}, {0, "GCRASETVALUE -1", "-ERR Invalid negative TaT value"}},
		{{0, "GCRA 9223372036854775807 1000000 1", "*5 0 9223372036854775807 9223372036854775806 -1 1"}, {0, "PERSIST", "1"}, {5000, "GCRA 2 1 60 TOKENS 4", "*5 1 3 3 -1 -4"}},
		{{0, "SET v", "+OK"}, {0, "GCRA 5 1 60", "-" + command.ErrDataType.Error()}, {0, "GCRASETVALUE x", "-" + command.ErrDataType.Error()}},
		{{0, "GCRA 5 1 60", "*5 0 6 5 -1 60"}, {0, "GET", "-" + command.ErrDataType.Error()}, {0, "INCREX", "-" + command.ErrDataType.Error()}, {0, "EXPIRE 10", "1"}, {0, "GCRA 5 1 60 TOKENS 6", "*5 1 6 5 60 60"}, {0, "PTTL", "10000"}, {0, "SET v", "+OK"}, {0, "TYPE", "+string"}},
	} {
		playCalls(t, calls)
	}
}

// Errors have Redis's texts, and come in its order.
func TestGCRAErrors(t *testing.T) {
	const (
		positive = "-ERR value is out of range, must be positive"
		integer  = "-ERR value is not an integer or out of range"
		atLeast  = "-ERR value is out of range, value must between 1 and 9223372036854775807"
		float    = "-ERR value is not a valid float"
		period   = "-ERR period must be > 0 and < 1e12"
		tokens   = "-ERR GCRA limiting uses microsecond accuracy. Combination of period, tokens_per_period and TOKENS would cause an overflow"
		burst    = "-ERR GCRA limiting uses microsecond accuracy. Combination of period, tokens_per_period and max_burst would cause an overflow"
	)
	for words, want := range map[string]string{
		"10 5":                                 "-ERR wrong number of arguments for 'gcra' command",
		"10 5 10 TOKENS 1 x":                   "-ERR wrong number of arguments for 'gcra' command",
		"-1 0 0":                               positive,
		"NaN 5 10":                             positive,
		"9223372036854775808 5 10":             positive,
		"10 0 x":                               atLeast,
		"10 -1 10":                             atLeast,
		"10 NaN 10":                            integer,
		"10 5 x COUNT":                         float,
		"10 5 NaN":                             float,
		"10 5 0 x":                             period,
		"10 5 -1":                              period,
		"10 5 1e12":                            period,
		"10 5 inf":                             period,
		"10 5 10 COUNT 1":                      "-ERR syntax error",
		"10 5 10 TOKENS":                       "-ERR Missing TOKENS value",
		"10 5 10 num_requests":                 "-ERR Missing NUM_REQUESTS value",
		"10 5 10 TOKENS 0":                     atLeast,
		"10 5 10 TOKENS -1":                    atLeast,
		"10 5 10 TOKENS NaN":                   integer,
		"1 1 86400 TOKENS 200000000":           tokens,
		"200000000 1 86400":                    burst,
		"1 1 2147483647 TOKENS 2147483647":     tokens,
		"200000000 1 86400 TOKENS 200000000":   tokens,
		"100000 1 86400000 TOKENS 106746":      tokens,
		"9223372036854775807 1 999999999999.9": burst,
	} {
		s := newNumberStore(t)
		if got := doAt(s, dataEpoch, append([]string{"gcra", "k"}, strings.Fields(words)...)...); got != want || s.Len() != 0 {
			t.Errorf("GCRA k %s: %q, want %q; %d keys", words, got, want, s.Len())
		}
	}
}

func TestGCRADenialsChangeNothing(t *testing.T) { checkDenial(t, "GCRA k 0 1 60") }

// A store whose times are set back goes on as before, at earlier times.
func TestGCRAIsRewound(t *testing.T) {
	const by = 3600 * int64(1e9)
	s := newNumberStore(t)
	doAt(s, dataEpoch, "GCRA", "k", "5", "1", "60", "TOKENS", "3")
	doAt(s, dataEpoch, "GCRA", "far", "5", "1", "60", "TOKENS", "6")
	doAt(s, dataEpoch, "PERSIST", "far")
	s.Rewind(dataEpoch, dataEpoch-by)
	for key, want := range map[string]string{"k": "*5 1 6 3 60 180", "far": "*5 1 6 0 240 360"} {
		if got := doAt(s, dataEpoch-by, "GCRA", key, "5", "1", "60", "TOKENS", "4"); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	if got := doAt(s, dataEpoch-by, "PTTL", "k"); got != "180000" {
		t.Errorf("PTTL %s", got)
	}
}

// gcraModel is a key of GCRA, modelled as documented, with numbers of any size.
type gcraModel struct {
	arrival *big.Int // µs; nil for no key
	expires int64    // ms; 0 for never
}

func (m *gcraModel) at(nowMs int64) {
	if m.arrival != nil && m.expires != 0 && nowMs > m.expires {
		m.arrival = nil
	}
}

var maxInt64 = big.NewInt(math.MaxInt64)

// up rounds microseconds up to seconds, in doubles.
func up(us *big.Int) *big.Int {
	f := new(big.Float).SetPrec(53).SetInt(us)
	q, accuracy := f.Quo(f, big.NewFloat(1e6)).Int(nil)
	if accuracy == big.Below {
		q.Add(q, big.NewInt(1))
	}
	return q
}

func (m *gcraModel) take(nowMs, maxBurst, perPeriod int64, period string, tokens int64) string {
	interval := new(big.Rat)
	interval.SetString(period)
	interval.Mul(interval, big.NewRat(1e6, perPeriod))
	interval.Add(interval, big.NewRat(1, 2))
	t := new(big.Int).Div(interval.Num(), interval.Denom())
	if t.Sign() == 0 {
		t.SetInt64(1)
	}
	burst := big.NewInt(maxBurst)
	burst.Add(burst, big.NewInt(1))
	v, i := new(big.Int).Mul(t, burst), new(big.Int).Mul(t, big.NewInt(tokens))
	now := new(big.Int).Mul(big.NewInt(nowMs), big.NewInt(1000))
	old := now
	if m.arrival != nil {
		old = m.arrival
	}
	next := new(big.Int).Add(now, i)
	if old.Cmp(now) > 0 {
		next.Add(old, i)
	}
	switch {
	case i.Cmp(maxInt64) > 0:
		return "tokens"
	case v.Cmp(maxInt64) > 0:
		return "burst"
	case next.Cmp(maxInt64) > 0:
		return "tokens"
	}
	wait := new(big.Int).Sub(new(big.Int).Sub(next, v), now)
	limited, retry, full := 0, big.NewInt(-1), new(big.Int).Sub(next, now)
	if wait.Sign() > 0 {
		limited = 1
		full.Sub(old, now)
		if i.Cmp(v) <= 0 {
			retry = up(wait)
		}
	} else {
		m.arrival, m.expires = next, new(big.Int).Div(next, big.NewInt(1000)).Int64()
	}
	left := new(big.Int).Quo(new(big.Int).Sub(v, full), t)
	if left.Sign() < 0 {
		left.SetInt64(0)
	}
	return fmt.Sprintf("*5 %d %d %d %d %d", limited, burst, left, retry, up(full))
}

// Random calls, with random parameters and at random times, get the model's replies.
func TestGCRAIsThatOfTheModel(t *testing.T) {
	seed := testsize.Seed()
	r, s := rand.New(rand.NewPCG(seed, 14826)), newNumberStore(t)
	pick := func(all ...string) string { return all[r.IntN(len(all))] }
	now, m, limited := dataEpoch, &gcraModel{}, 0
	for i := range testsize.Pick(20_000, 1_000_000) {
		if r.IntN(3) == 0 {
			now += r.Int64N(int64(pick1e(r, 4, 11)))
		}
		m.at(now / 1e6)
		var words []string
		want := ""
		switch n := r.IntN(30); {
		case n == 0:
			m.arrival, words, want = nil, []string{"DEL", "k"}, strconv.Itoa(min(1, len(m.text())))
		case n == 1 && m.arrival != nil:
			words, want = []string{"PERSIST", "k"}, strconv.Itoa(int(min(1, m.expires)))
			m.expires = 0
		case n == 2 && m.arrival != nil:
			ms := 1 + r.Int64N(5000)
			m.expires = now/1e6 + ms
			words, want = []string{"PEXPIRE", "k", strconv.FormatInt(ms, 10)}, "1"
		case n == 3:
			us := now/1e6*1e3 + r.Int64N(1e7) - 1e6
			words, want = []string{"GCRASETVALUE", "k", strconv.FormatInt(us, 10)}, "+OK"
			m.arrival, m.expires = big.NewInt(us), us/1000
		default:
			burst, per, period, tokens := r.Int64N(10), 1+r.Int64N(int64(pick1e(r, 0, 7))), pick("0.001", "0.25", "0.5", "1", "2.5", "7", "60", "3600", "86400000"), int64(1)
			if r.IntN(50) == 0 {
				burst = r.Int64N(int64(pick1e(r, 1, 18)))
			}
			words = []string{"GCRA", "k", strconv.FormatInt(burst, 10), strconv.FormatInt(per, 10), period}
			if r.IntN(3) == 0 {
				if tokens = 1 + r.Int64N(12); r.IntN(10) == 0 {
					tokens = 1 + r.Int64N(int64(pick1e(r, 1, 18)))
				}
				words = append(words, pick("TOKENS", "tokens", "NUM_REQUESTS"), strconv.FormatInt(tokens, 10))
			}
			want = m.take(now/1e6, burst, per, period, tokens)
			if strings.HasPrefix(want, "*5 1") {
				limited++
			}
		}
		got := doAt(s, now, words...)
		if strings.HasPrefix(got, "-ERR GCRA limiting") {
			got = map[bool]string{true: "tokens", false: "burst"}[strings.Contains(got, "TOKENS")]
		}
		m.at(now / 1e6)
		wantTTL := "-2"
		if m.arrival != nil {
			wantTTL = strconv.FormatInt(m.expires-now/1e6, 10)
			if m.expires == 0 {
				wantTTL = "-1"
			} else if m.expires > math.MaxInt64/1_000_000 {
				wantTTL = strconv.FormatInt((math.MaxInt64-now+999_999)/1e6, 10) // the last time there is here
			}
		}
		if ttl := doAt(s, now, "PTTL", "k"); got != want || ttl != wantTTL {
			t.Fatalf("TEST_SEED=%d: call %d, %q at %d: %q and PTTL %s, want %q and %s", seed, i, words, now, got, ttl, want, wantTTL)
		}
	}
	if limited < 1000 {
		t.Errorf("only %d calls were limited", limited)
	}
}

func (m *gcraModel) text() string {
	if m.arrival == nil {
		return ""
	}
	return m.arrival.String()
}

// pick1e is a random power of ten.
func pick1e(r *rand.Rand, least, most int) float64 {
	return math.Pow10(least + r.IntN(most-least+1))
}

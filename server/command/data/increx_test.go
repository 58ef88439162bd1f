package data_test

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/testsize"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
)

const (
	mostInt  = "9223372036854775807"
	leastInt = "-9223372036854775808"
)

// bulks returns an array of two bulk strings.
func bulks(a, b string) string { return fmt.Sprintf("*2 $%d %s $%d %s", len(a), a, len(b), b) }

func TestIncrex(t *testing.T) {
	large := strings.Trim(string(data.AppendLongDouble(nil, data.MaxLongDouble)), " ")
	for _, calls := range [][]keyCall{
		{{0, "INCREX", "*2 1 1"}, {0, "INCREX", "*2 2 1"}, {0, "TTL", "-1"}, {0, "TYPE", "+string"}},
		{{0, "SET 10", "+OK"}, {0, "INCREX EX 60", "*2 11 1"}, {0, "TTL", "60"}},
		{{0, "SET 50", "+OK"}, {0, "INCREX BYINT 100 UBOUND 80 SATURATE", "*2 80 30"}, {0, "GET", "$2 80"}},
		{{0, "SET 10", "+OK"}, {0, "INCREX BYINT -100 LBOUND 0 SATURATE", "*2 0 -10"}},
		{{0, "SET 50", "+OK"}, {0, "INCREX BYINT 5 UBOUND 30 SATURATE", "*2 30 -20"}},
		{{0, "SET -50", "+OK"}, {0, "INCREX BYINT -5 LBOUND -30 SATURATE", "*2 -30 20"}},
		{{0, "SET 50", "+OK"}, {0, "INCREX BYINT -25 UBOUND 30", "*2 25 -25"}},
		{{0, "SET 10 EX 50", "+OK"}, {0, "INCREX BYINT 10 UBOUND 15 EX 100", "*2 10 0"}, {0, "TTL", "50"}, {0, "INCREX BYINT 10 UBOUND 15 PERSIST", "*2 10 0"}, {0, "TTL", "50"}},
		{{0, "SET 5", "+OK"}, {0, "INCREX BYINT 5 UBOUND 10", "*2 10 5"}, {0, "INCREX BYINT -10 LBOUND 0", "*2 0 -10"}, {0, "INCREX LBOUND 0 BYINT 100 UBOUND 10 SATURATE", "*2 10 10"}},
		{{0, "INCREX BYINT 5 LBOUND 10", "*2 0 0"}, {0, "EXISTS", "0"}, {0, "INCREX UBOUND 0 SATURATE", "*2 0 0"}, {0, "GET", "$1 0"}},
		{{0, "INCREX LBOUND 5 SATURATE", "*2 5 5"}, {0, "DEL", "1"}, {0, "INCREX BYINT 15 UBOUND 10", "*2 0 0"}, {0, "EXISTS", "0"}},
		{{0, "SET 9223372036854775800", "+OK"}, {0, "INCREX BYINT 9223372036854775800", "*2 9223372036854775800 0"}, {0, "INCREX BYINT 9223372036854775800 SATURATE", "*2 " + mostInt + " 7"}, {0, "INCREX SATURATE", "*2 " + mostInt + " 0"}},
		{{0, "SET -9223372036854775800", "+OK"}, {0, "INCREX BYINT -9223372036854775800", "*2 -9223372036854775800 0"}, {0, "INCREX BYINT -9223372036854775800 SATURATE", "*2 " + leastInt + " -8"}},
		{{0, "SET 10", "+OK"}, {0, "INCREX BYINT " + mostInt + " UBOUND 100", "*2 10 0"}, {0, "INCREX BYINT " + mostInt + " UBOUND 100 SATURATE", "*2 100 90"}},
		{{0, "SET " + mostInt, "+OK"}, {0, "INCREX BYINT -5 UBOUND " + leastInt + " SATURATE", "-ERR applied increment would overflow"}, {0, "GET", "$19 " + mostInt}},
		{{0, "SET 9223372036854775800", "+OK"}, {0, "INCREX BYINT 1 SATURATE UBOUND " + leastInt, "-ERR applied increment would overflow"}},
		{{0, "SET 100 EX 500", "+OK"}, {0, "INCREX BYINT 0", "*2 100 0"}, {0, "INCREX PERSIST", "*2 101 1"}, {0, "TTL", "-1"}, {0, "INCREX PERSIST", "*2 102 1"}},
		{{0, "SET 10 EX 500", "+OK"}, {0, "INCREX EX 10 ENX", "*2 11 1"}, {0, "TTL", "500"}, {0, "INCREX ENX EXAT 1", "*2 12 1"}, {0, "TTL", "500"}, {0, "INCREX EX 9", "*2 13 1"}, {0, "TTL", "9"}, {0, "INCREX PX 1500", "*2 14 1"}, {0, "PTTL", "1500"}},
		{{0, "INCREX EX 100 ENX", "*2 1 1"}, {100_000, "EXISTS", "0"}, {0, "INCREX PX 100 ENX", "*2 1 1"}, {0, "PTTL", "100"}},
		{{0, "SET 10", "+OK"}, {0, "INCREX EXAT 1800000100", "*2 11 1"}, {0, "TTL", "100"}, {0, "INCREX PXAT 1800000200000", "*2 12 1"}, {0, "TTL", "200"}, {0, "INCREX EXAT 1", "*2 13 1"}, {0, "EXISTS", "0"}, {0, "INCREX PXAT 1", "*2 1 1"}, {0, "EXISTS", "0"}},
		{{0, "SET 10", "+OK"}, {0, "INCREX EXAT 100 ENX", "*2 11 1"}, {0, "EXISTS", "0"}},
		{{0, "INCREX NX", "*2 1 1"}, {0, "INCREX NX EX 100 BYINT 3", "*2 1 0"}, {0, "TTL", "-1"}, {0, "INCREX XX", "*2 2 1"}, {0, "DEL", "1"}, {0, "INCREX XX", "*2 0 0"}, {0, "INCREX XX BYFLOAT 0.1", bulks("0", "0")}, {0, "EXISTS", "0"}},
		{{0, "INCREX BYFLOAT 0.1 NX", bulks("0.1", "0.1")}, {0, "INCREX BYFLOAT 0.1 NX", bulks("0.1", "0")}},
		{{0, "SET 1.5", "+OK"}, {0, "INCREX BYFLOAT 0.25", bulks("1.75", "0.25")}, {0, "INCREX BYFLOAT 1", bulks("2.75", "1")}, {0, "INCREX", "-" + command.ErrNotInteger.Error()}},
		{{0, "SET 10 EX 50", "+OK"}, {0, "INCREX BYFLOAT 100 UBOUND 42.5 SATURATE", bulks("42.5", "32.5")}, {0, "TTL", "50"}, {0, "INCREX BYFLOAT -100 LBOUND -5.5", bulks("42.5", "0")}, {0, "INCREX BYFLOAT -100 LBOUND -5.5 SATURATE", bulks("-5.5", "-48")}},
		{{0, "INCREX BYFLOAT -0.5 UBOUND -1.5", bulks("0", "0")}, {0, "EXISTS", "0"}, {0, "INCREX BYFLOAT 0.0243902439024390244", bulks("0.0243902439024390244"[:19], "0.02439024390243902")}},
		{{0, "SET 50.5", "+OK"}, {0, "INCREX BYFLOAT 5.5 UBOUND 30", bulks("50.5", "0")}, {0, "INCREX BYFLOAT 5.5 UBOUND 30 SATURATE", bulks("30", "-20.5")}},
		{{0, "SET 10", "+OK"}, {0, "INCREX BYFLOAT 1 UBOUND inf", bulks("11", "1")}, {0, "INCREX BYFLOAT 1 LBOUND -inf UBOUND -inf", bulks("11", "0")}, {0, "INCREX BYFLOAT 1 LBOUND inf UBOUND inf SATURATE", "-ERR applied increment would be Infinity"}, {0, "GET", "$2 11"}},
		{{0, "SET " + large, "+OK"}, {0, "INCREX BYFLOAT " + large, bulks(large, "0")}, {0, "INCREX BYFLOAT " + large + " SATURATE", bulks(large, "0")}, {0, "INCREX BYFLOAT " + large + " UBOUND 5 LBOUND -1 SATURATE", bulks("5", "-"+large)}},
		{{0, "SET -" + large, "+OK"}, {0, "INCREX BYFLOAT " + large + " LBOUND " + large + " SATURATE", "-ERR applied increment would be Infinity"}, {0, "INCREX BYFLOAT -" + large + " LBOUND -100 SATURATE", bulks("-100", large)}},
		{{0, "SET 100000000000000000000", "+OK"}, {0, "INCREX BYFLOAT 1", bulks("100000000000000000000", "0")}, {0, "INCREX BYFLOAT 9", bulks("100000000000000000008", "8")}},
		{{0, "SET inf", "+OK"}, {0, "INCREX BYFLOAT 1", "-ERR value cannot be Infinity"}, {0, "INCREX BYINT 1", "-ERR value is not an integer or out of range"}},
		{{0, "SET abc", "+OK"}, {0, "INCREX BYFLOAT 1", "-ERR value is not a valid float"}, {0, "INCREX EXAT 1", "-ERR value is not an integer or out of range"}, {0, "EXISTS", "1"}},
		{{0, "SADD a", "1"}, {0, "INCREX", "-" + command.ErrDataType.Error()}, {0, "INCREX BYFLOAT 1 EXAT 1", "-" + command.ErrDataType.Error()}, {0, "INCREX NX", "-" + command.ErrDataType.Error()}},
	} {
		playCalls(t, calls)
	}
}

// Errors have Redis's texts, and come in its order.
func TestIncrexErrors(t *testing.T) {
	const syntax = "-ERR syntax error"
	for words, want := range map[string]string{
		"FOO": syntax, "BYINT 1 FOO": syntax, "BYINT": syntax, "BYFLOAT": syntax, "LBOUND": syntax, "UBOUND": syntax, "EX": syntax, "SAT LBOUND 0": syntax,
		"BYINT 1 BYFLOAT 1.5": syntax, "BYFLOAT 1.5 BYINT 1": syntax, "BYINT 1 BYINT 2": syntax, "BYFLOAT 1 BYFLOAT 2": syntax,
		"LBOUND 0 LBOUND 1": syntax, "UBOUND 9 UBOUND 8": syntax, "SATURATE SATURATE": syntax, "ENX ENX EX 10": syntax, "PERSIST PERSIST": syntax,
		"EX 10 EX 20": syntax, "EX 10 PX 5000": syntax, "EX 10 EXAT 9999999999": syntax, "PX 5000 PXAT 9999999999000": syntax,
		"EX 10 PERSIST": syntax, "PERSIST EX 10": syntax, "PERSIST ENX": syntax, "ENX PERSIST": syntax, "NX XX": syntax, "XX NX": syntax, "NX NX": syntax, "KEEPTTL": syntax,
		"ENX": "-ERR ENX flag requires an expiration", "BYINT 1 ENX LBOUND 0": "-ERR ENX flag requires an expiration",
		"BYINT abc FOO": "-ERR Increment is not an integer or out of range", "BYINT 1.5": "-ERR Increment is not an integer or out of range",
		"FOO BYINT abc": syntax, "BYINT abc BYFLOAT": "-ERR Increment is not an integer or out of range",
		"BYFLOAT abc": "-ERR Increment is not a valid float", "BYFLOAT nan": "-ERR Increment is not a valid float", "BYFLOAT 1e99999": "-ERR Increment is not a valid float",
		"BYFLOAT +inf": "-ERR BYFLOAT increment cannot be Infinity", "BYFLOAT -inf FOO": "-ERR BYFLOAT increment cannot be Infinity",
		"UBOUND 12.5": "-ERR UBOUND is not an integer or out of range", "UBOUND inf": "-ERR UBOUND is not an integer or out of range", "LBOUND abc UBOUND abc": "-ERR LBOUND is not an integer or out of range",
		"UBOUND abc BYFLOAT 1": "-ERR UBOUND is not a valid float", "LBOUND nan UBOUND x BYFLOAT 1": "-ERR LBOUND is not a valid float",
		"LBOUND 10 UBOUND 5 ENX": "-ERR LBOUND can't be greater than UBOUND", "BYFLOAT 0.5 LBOUND 10.5 UBOUND 1.5": "-ERR LBOUND can't be greater than UBOUND",
		"BYFLOAT 1 UBOUND -inf": "-ERR LBOUND can't be greater than UBOUND", "BYFLOAT 1 LBOUND inf": "-ERR LBOUND can't be greater than UBOUND",
		"EX 0": "-ERR invalid expire time in 'increx' command", "PX -1": "-ERR invalid expire time in 'increx' command", "EXAT 0": "-ERR invalid expire time in 'increx' command",
		"EX 9223372036854775": "-ERR invalid expire time in 'increx' command", "PX " + mostInt: "-ERR invalid expire time in 'increx' command",
		"EX abc": "-ERR value is not an integer or out of range", "EX abc LBOUND 2 UBOUND 1": "-ERR LBOUND can't be greater than UBOUND", "EX abc ENX": "-ERR value is not an integer or out of range",
	} {
		s := newNumberStore(t)
		if got := doAt(s, dataEpoch, append([]string{"increx", "k"}, strings.Fields(words)...)...); got != want || s.Len() != 0 {
			t.Errorf("INCREX k %s: %q, want %q; %d keys", words, got, want, s.Len())
		}
	}
	if got := doAt(newNumberStore(t), dataEpoch, "increx"); got != "-ERR wrong number of arguments for 'increx' command" {
		t.Errorf("INCREX: %q", got)
	}
}

func TestIncrexDenialsChangeNothing(t *testing.T) { checkDenial(t, "INCREX k UBOUND 1 EX 60 ENX") }

// checkDenial executes a command that is granted once. The following denial changes nothing, so a cluster's leader
// answers it without a log entry.
func checkDenial(t *testing.T, command string) {
	t.Helper()
	s := newNumberStore(t)
	op := engine.Op{Verb: engine.Command, KeyFrom: 1, KeyCount: 1, Args: bytes.Fields([]byte(command))}
	results := make([]engine.Result, 1)
	for i, want := range []bool{false, true} {
		if answered := s.TryReadOnly(dataEpoch, &op, &results[0]); answered != want {
			t.Errorf("call %d: answered %t, want %t", i, answered, want)
		}
		before := s.Digest(dataEpoch)
		if s.Apply(dataEpoch, []engine.Op{op}, results); (s.Digest(dataEpoch) == before) != want || (results[0].Granted == 0) != want {
			t.Errorf("call %d: a change although it was denied, or none: %+v", i, results[0])
		}
	}
}

// increxModel is a key of INCREX, modelled as documented. Its numbers are multiples of 1/8, which are exact in any
// format.
type increxModel struct {
	value   *big.Rat // nil for no key
	expires int64    // ms; 0 for never
}

// add returns the reply to an INCREX, the number and the added amount, and whether it changed the key.
func (m *increxModel) add(by, least, most *big.Rat, floats, saturate, blocked bool) (reply string, done bool) {
	old := new(big.Rat)
	if m.value != nil {
		old = m.value
	}
	sum := new(big.Rat).Add(old, by)
	within := sum
	if most != nil && within.Cmp(most) > 0 {
		within = most
	}
	if least != nil && within.Cmp(least) < 0 {
		within = least
	}
	text := func(value, applied *big.Rat) string {
		if floats {
			return bulks(decimal(value), decimal(applied))
		}
		return "*2 " + decimal(value) + " " + decimal(applied)
	}
	if blocked || within.Cmp(sum) != 0 && !saturate {
		return text(old, new(big.Rat)), false
	}
	applied := new(big.Rat).Sub(within, old)
	if !floats && (applied.Cmp(intRat(math.MinInt64)) < 0 || applied.Cmp(intRat(math.MaxInt64)) > 0) {
		return "-ERR applied increment would overflow", false
	}
	m.value = within
	return text(within, applied), true
}

func decimal(r *big.Rat) string {
	text := r.FloatString(3)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

func intRat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// Random calls get the model's replies, and leave the model's expiry.
func TestIncrexIsThatOfTheModel(t *testing.T) {
	seed := testsize.Seed()
	r, s := rand.New(rand.NewPCG(seed, 15045)), newNumberStore(t)
	now, m, denied := dataEpoch, &increxModel{}, 0
	number := func(floats bool) *big.Rat {
		switch n := r.IntN(20); {
		case floats:
			return big.NewRat(r.Int64N(2001)-1000, 8)
		case n == 0:
			return intRat(math.MaxInt64 - r.Int64N(3))
		case n == 1:
			return intRat(math.MinInt64 + r.Int64N(3))
		}
		return intRat(r.Int64N(2001) - 1000)
	}
	for i := range testsize.Pick(20_000, 1_000_000) {
		now += r.Int64N(1e7)
		if m.value != nil && m.expires != 0 && m.expires*1e6 <= now {
			m.value, m.expires = nil, 0
		}
		floats := r.IntN(2) == 0
		if !floats && m.value != nil && !m.value.IsInt() || floats && m.value != nil && new(big.Rat).Abs(m.value).Cmp(intRat(1<<40)) > 0 {
			m.value, m.expires = nil, 0
			doAt(s, now, "DEL", "k")
		}
		options, by := [][]string{}, intRat(1)
		if floats || r.IntN(2) == 0 {
			by = number(floats)
			options = append(options, []string{map[bool]string{true: "BYFLOAT", false: "byint"}[floats], decimal(by)})
		}
		var least, most *big.Rat
		if r.IntN(2) == 0 {
			least = number(floats)
			options = append(options, []string{"LBOUND", decimal(least)})
		}
		if r.IntN(2) == 0 {
			most = number(floats)
			options = append(options, []string{"UBOUND", decimal(most)})
		}
		saturate, persist, blocked := r.IntN(3) == 0, r.IntN(8) == 0, false
		if saturate {
			options = append(options, []string{"Saturate"})
		}
		ms, enx := int64(0), false
		switch n := r.IntN(8); {
		case persist:
			options = append(options, []string{"PERSIST"})
		case n < 2:
			seconds := 1 + r.Int64N(3)
			ms = now/1e6 + 1000*seconds
			options = append(options, []string{"EX", strconv.FormatInt(seconds, 10)})
		case n == 2:
			ms = now/1e6 + r.Int64N(200) - 50
			options = append(options, []string{"PXAT", strconv.FormatInt(ms, 10)})
		}
		if enx = ms != 0 && r.IntN(2) == 0; enx {
			options = append(options, []string{"enx"})
		}
		switch r.IntN(12) {
		case 0:
			options, blocked = append(options, []string{"NX"}), m.value != nil
		case 1:
			options, blocked = append(options, []string{"XX"}), m.value == nil
		}
		r.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
		words := []string{"INCREX", "k"}
		for _, o := range options {
			words = append(words, o...)
		}
		low, high := least, most
		if !floats { // the type has bounds too
			low, high = orRat(least, intRat(math.MinInt64)), orRat(most, intRat(math.MaxInt64))
		}
		want := "-ERR LBOUND can't be greater than UBOUND"
		if low == nil || high == nil || low.Cmp(high) <= 0 {
			var done bool
			if want, done = m.add(by, low, high, floats, saturate, blocked); done {
				switch {
				case persist:
					m.expires = 0
				case ms != 0 && (!enx || m.expires == 0):
					m.expires = ms
				}
				if m.expires != 0 && m.expires <= now/1e6 {
					m.value, m.expires = nil, 0
				}
			} else {
				denied++
			}
		}
		got, ttl, wantTTL := doAt(s, now, words...), doAt(s, now, "PTTL", "k"), "-2"
		if m.value != nil && m.expires == 0 {
			wantTTL = "-1"
		} else if m.value != nil {
			wantTTL = strconv.FormatInt(m.expires-now/1e6, 10)
		}
		if got != want || ttl != wantTTL {
			t.Fatalf("TEST_SEED=%d: call %d, %q: %q and PTTL %s, want %q and %s", seed, i, words, got, ttl, want, wantTTL)
		}
	}
	if denied < 1000 {
		t.Errorf("only %d calls were denied", denied)
	}
}

func orRat(a, b *big.Rat) *big.Rat {
	if a != nil {
		return a
	}
	return b
}

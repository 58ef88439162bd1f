package testmodel

import (
	"math"
	"math/big"
	"slices"
	"strings"
)

// datum is the state of a key that is no limiter's: the arrival time of Redis's GCRA, or the number of INCREX.
type datum struct {
	arrival *big.Int // µs; nil of a number
	number  *big.Rat
	expires int64 // ms; 0 for never
}

// live: a key of GCRA lives through the millisecond of its expiry, like all keys in Redis.
func (d *datum) live(now int64) bool {
	if d.arrival != nil {
		now -= millisecond
	}
	return d.expires == 0 || now < d.end()
}

// end is the time of the expiry, or the last there is.
func (d *datum) end() int64 {
	if d.expires > math.MaxInt64/millisecond {
		return math.MaxInt64
	}
	return d.expires * millisecond
}

func (d *datum) look(now int64) (l limit, remaining, reset int64) {
	if d.expires == 0 {
		return l, 0, never
	}
	return l, 0, max(0, d.end()-now)
}

func (d *datum) refund(int64, int64) state { return d }

func (d *datum) boundaries() []int64 {
	return []int64{d.end(), min(d.end(), math.MaxInt64-millisecond) + millisecond}
}

// kind is what TYPE answers.
func (d *datum) kind() string {
	if d.arrival != nil {
		return gcra
	}
	return "string"
}

const wrongData = refusal("WRONGTYPE Operation against a key holding the wrong kind of value")

// heldData is the data of a key, nil if there is none.
func heldData(m *Model, key, kind string) (*datum, error) {
	s := m.held(key)
	if s == nil {
		return nil, nil
	}
	d, is := s.(*datum)
	if !is || d.kind() != kind {
		return nil, wrongData
	}
	return d, nil
}

func get(m *Model, words []string) (string, error) {
	d, err := heldData(m, words[1], "string")
	if d == nil || err != nil {
		return null, err
	}
	return bulk(eighths(d.number)), nil
}

// eighths is the text of a multiple of 1/8.
func eighths(r *big.Rat) string {
	return strings.TrimSuffix(strings.TrimRight(r.FloatString(3), "0"), ".")
}

const gcraOverflow = "ERR GCRA limiting uses microsecond accuracy. Combination of period, tokens_per_period and %s would cause an overflow"

// redisGCRA is GCRA by numbers without a bound.
func redisGCRA(m *Model, words []string) (string, error) {
	number := func(i int) *big.Int { n, _ := new(big.Int).SetString(words[i], 10); return n }
	micros := func(nanos int64) *big.Int { return big.NewInt(nanos / millisecond * 1000) }
	tokens, last := big.NewInt(1), new(big.Int).SetInt64(1<<63-1)
	if len(words) > 6 {
		tokens = number(6)
	}
	d, err := heldData(m, words[1], gcra)
	if err != nil {
		return "", err
	}
	now, arrival := micros(m.Now), micros(m.Now)
	if d != nil {
		arrival = d.arrival
	}
	period, _ := new(big.Rat).SetString(words[4])
	exact := plus(times(times(period, ratio(1_000_000)), new(big.Rat).SetFrac(big.NewInt(1), number(3))), big.NewRat(1, 2))
	interval := new(big.Int).Div(exact.Num(), exact.Denom())
	if interval.Sign() == 0 {
		interval.SetInt64(1)
	}
	burst := new(big.Int).Add(number(2), big.NewInt(1))
	increment, tolerance := new(big.Int).Mul(interval, tokens), new(big.Int).Mul(interval, burst)
	after := new(big.Int).Add(arrival, increment)
	if now.Cmp(arrival) > 0 {
		after.Add(now, increment)
	}
	switch {
	case increment.Cmp(last) > 0 || tolerance.Cmp(last) <= 0 && after.Cmp(last) > 0:
		return "", refuse(gcraOverflow, "TOKENS")
	case tolerance.Cmp(last) > 0:
		return "", refuse(gcraOverflow, "max_burst")
	}
	limited, retry, full := int64(0), int64(-1), new(big.Int).Sub(after, now)
	if wait := new(big.Int).Sub(full, tolerance); wait.Sign() > 0 {
		if limited = 1; increment.Cmp(tolerance) <= 0 {
			retry = seconds(wait)
		}
		full.Sub(arrival, now)
	} else {
		m.keep(words[1], &datum{arrival: after, expires: new(big.Int).Div(after, big.NewInt(1000)).Int64()})
	}
	left := new(big.Int).Quo(new(big.Int).Sub(tolerance, full), interval)
	return integers(limited, burst.Int64(), max(0, left.Int64()), retry, seconds(full)), nil
}

// seconds rounds microseconds up, as Redis does in doubles.
func seconds(us *big.Int) int64 {
	f := new(big.Float).SetPrec(53).SetInt(us)
	r, _ := f.Quo(f, big.NewFloat(1e6)).Rat(nil)
	return up(r)
}

// redisIncrex is INCREX of multiples of 1/8.
func redisIncrex(m *Model, words []string) (string, error) {
	option := func(name string) *big.Rat {
		i := slices.Index(words, name)
		if i < 0 {
			return nil
		}
		value, _ := new(big.Rat).SetString(words[i+1])
		return value
	}
	by, write := option("BYINT"), func(r *big.Rat) string { return integer(r.Num().Int64()) }
	if by == nil {
		by = ratio(1)
	}
	if f := option("BYFLOAT"); f != nil {
		by, write = f, func(r *big.Rat) string { return bulk(eighths(r)) }
	}
	least, most := option("LBOUND"), option("UBOUND")
	if least != nil && most != nil && least.Cmp(most) > 0 {
		return "", refuse("ERR LBOUND can't be greater than UBOUND")
	}
	d, err := heldData(m, words[1], "string")
	if err != nil {
		return "", err
	}
	old, expires := new(big.Rat), int64(0)
	if d != nil {
		old, expires = d.number, d.expires
	}
	if !old.IsInt() && option("BYFLOAT") == nil {
		return "", refuse("ERR value is not an integer or out of range")
	}
	sum := plus(old, by)
	switch within := clamp(sum, least, most); {
	case within.Cmp(sum) == 0:
	case slices.Contains(words, "SATURATE"):
		sum = within
	default:
		return array(write(old), write(new(big.Rat))), nil
	}
	ttl := option("EX")
	switch {
	case slices.Contains(words, "PERSIST"):
		expires = 0
	case ttl != nil && (expires == 0 || !slices.Contains(words, "ENX")):
		expires = m.Now/millisecond + 1000*ttl.Num().Int64()
	}
	m.keep(words[1], &datum{number: sum, expires: expires})
	return array(write(sum), write(minus(sum, old))), nil
}

// clamp is the number nearest to r between bounds, either of which may be nil.
func clamp(r, least, most *big.Rat) *big.Rat {
	if most != nil && r.Cmp(most) > 0 {
		r = most
	}
	if least != nil && r.Cmp(least) < 0 {
		r = least
	}
	return r
}

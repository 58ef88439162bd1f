package stint

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// A counter holds the tokens taken of a token bucket or of aligned windows, in exact arithmetic.
type counter struct {
	limit  Limit
	fullAt int64 // of a bucket, in count-ths of a nanosecond
	window int64 // the number of the window
	used   int64 // in it
}

func (c *counter) taken(now int64) int64 {
	if c.limit.algorithm == fixedWindow {
		if w := now / int64(c.limit.period); w != c.window {
			c.window, c.used = w, 0
		}
		return c.used
	}
	c.fullAt = max(c.fullAt, now*c.limit.count)
	return (c.fullAt - now*c.limit.count + int64(c.limit.period) - 1) / int64(c.limit.period)
}

func (c *counter) take(now, n int64) {
	taken := c.taken(now)
	c.fullAt += n * int64(c.limit.period)
	c.used = max(0, taken+n)
	c.taken(now)
}

// turn gives it another rate with the same period: the usage carries over.
func (c *counter) turn(now int64, limit Limit) {
	c.taken(now)
	c.fullAt = now*limit.count + c.fullAt - now*c.limit.count
	c.limit = limit
}

// A model is a server with one key, and an exact limiter beside it that counts every token when it is spent.
type model struct {
	counter
	exact  counter
	lent   []lentTokens
	excess int64 // tokens that the exact limiter would not have granted
	mu     sync.Mutex
	asked  int
}

// lentTokens are set aside for a holder.
type lentTokens struct {
	holder        string
	tokens, until int64
	number        int64
}

func newModel(limit Limit) *model {
	return &model{counter: counter{limit: limit}, exact: counter{limit: limit}}
}

// spend counts tokens in the exact limiter.
func (m *model) spend(now, n int64) {
	m.exact.take(now, n)
	m.excess = max(m.excess, m.exact.taken(now)-m.limit.tokens)
}

func (m *model) lentSum(now int64) (sum int64) {
	m.end(now)
	for _, l := range m.lent {
		sum += l.tokens
	}
	return sum
}

// available is the number of tokens that anybody may take.
func (m *model) available(now int64) int64 {
	lent := m.lentSum(now)
	return max(0, m.limit.tokens-m.taken(now)-lent)
}

// end ends loans whose time is over.
func (m *model) end(now int64) {
	slices.SortFunc(m.lent, func(a, b lentTokens) int { return int(min(1, max(-1, a.until-b.until))) })
	for len(m.lent) > 0 && m.lent[0].until <= now {
		m.take(m.lent[0].until, m.lent[0].tokens)
		m.lent = m.lent[1:]
	}
}

func (m *model) acquire(now int64, limit Limit, n int64) []any {
	if limit != m.limit {
		m.end(now)
		m.turn(now, limit)
		m.exact.turn(now, limit)
	}
	granted, wait := n, int64(0)
	if n > m.available(now) {
		granted, wait = 0, ceilMS(int64(m.limit.period)/m.limit.count+1)
		if m.limit.algorithm == fixedWindow {
			wait = ceilMS(int64(m.limit.period) - now%int64(m.limit.period))
		}
	}
	m.take(now, granted)
	m.spend(now, granted)
	return []any{granted, m.limit.tokens, m.available(now), wait, int64(0)}
}

func ceilMS(ns int64) int64 { return (ns + 999_999) / 1_000_000 }

func (m *model) refund(now, n int64) {
	m.end(now)
	m.take(now, -n)
	m.exact.take(now, -n)
}

func (m *model) reset(now int64) {
	m.end(now)
	m.take(now, -m.taken(now))
	m.exact.take(now, -m.exact.taken(now))
}

// operate carries out RL.LEND or RL.RETURN.
func (m *model) operate(now int64, limit Limit, arguments []any) (reply any, err error) {
	m.end(now)
	at, left := 2, 5 // positions of the holder, and of the tokens that are left
	if arguments[0] == "RL.LEND" {
		at, left = 6, 10
	}
	l := lentTokens{holder: arguments[at].(string)}
	position := slices.IndexFunc(m.lent, func(other lentTokens) bool { return other.holder == l.holder })
	if position >= 0 {
		l = m.lent[position]
	}
	number, previous, stated := arguments[at+1].(int64), arguments[at+2].(int64), arguments[left].(int64)
	answer := func(granted int64) (any, error) {
		return []any{granted, m.limit.tokens, m.available(now), l.tokens, l.number}, nil
	}
	if l.number != previous {
		return answer(0)
	}
	if stated > l.tokens {
		return nil, errorReply(fmt.Sprintf("ERR the holder states more tokens than the %d that are set aside for it", l.tokens))
	}
	if position >= 0 {
		m.lent = slices.Delete(m.lent, position, position+1)
	}
	m.take(now, l.tokens-stated)
	if arguments[0] == "RL.RETURN" {
		l = lentTokens{}
		return answer(stated)
	}
	granted := min(arguments[5].(int64), max(0, m.available(now)-stated)/8)
	if limit != m.limit {
		granted = 0
	}
	if l.tokens, l.number = stated+granted, number; l.tokens == 0 {
		l.number = 0
		return answer(0)
	}
	ttl, err := time.ParseDuration(arguments[12].(string))
	l.until = now + int64(ttl)
	m.lent = append(m.lent, l)
	if err != nil {
		return nil, err
	}
	return answer(granted)
}

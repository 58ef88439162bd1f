package testmodel

import (
	"fmt"
	"strings"
)

// Model answers commands at a time that its owner moves.
type Model struct {
	Now      int64 // nanoseconds since the Unix epoch
	keys     map[string]state
	policies map[string]*policy
	checks   map[string]*checks // by the names of policies
	since    pastStates         // states of keys since the last that no crash undoes; nil without crashes
	due      int64              // when the reply to the last BLOCK comes
	promised map[string]promise // to denied callers with SPREAD, by keys
	inMulti  bool               // between MULTI and EXEC, BLOCK does not wait
}

// New returns a model that knows no keys.
func New(now int64) *Model {
	return &Model{Now: now, keys: map[string]state{}, policies: map[string]*policy{}, checks: map[string]*checks{}, promised: map[string]promise{}}
}

// held is a key's state, nil if it has expired.
func (m *Model) held(key string) state {
	s, found := m.keys[key]
	if l, ok := s.(*lent); ok {
		if s = l.at(m.Now); s == nil {
			delete(m.keys, key)
		}
		return s
	}
	if f, ok := s.(*fixed); ok && f.live(m.Now) {
		return f.at(m.Now)
	}
	if found && !s.live(m.Now) {
		delete(m.keys, key)
		return nil
	}
	return s
}

func (m *Model) keep(key string, s state) {
	m.since.add(key, s)
	if m.keys[key] = s; !s.live(m.Now) {
		delete(m.keys, key)
	}
}

func algorithmOf(s state) string {
	switch s := s.(type) {
	case *meter:
		return s.limit.algorithm
	case *lent:
		return s.limit.algorithm
	case *fixed:
		return fixedWindow
	case *sliding:
		return slidingWindow
	case *log:
		return slidingLog
	case *segments:
		return slidingSegments
	case *reservation:
		return reserved
	case *datum:
		return s.kind()
	case *credits:
		return balance
	case *bans:
		return penalty
	}
	return concurrency
}

// heldFor is the state of a key for a limit of an algorithm.
func (m *Model) heldFor(key, algorithm string) (state, error) {
	s := m.held(key)
	if err := checkLimiter(s); err != nil {
		return nil, err
	}
	if s != nil && algorithmOf(s) != algorithm {
		return nil, refuse("WRONGTYPE the key belongs to a %s limiter, this command needs a %s", algorithmOf(s), algorithm)
	}
	return s, nil
}

// command describes a command: the number of its words, its name included, and its reply.
type command struct {
	least, most int
	do          func(m *Model, words []string) (string, error)
}

var commands map[string]command

func init() {
	const many = 1 << 20
	commands = map[string]command{
		"CL.THROTTLE": {5, 6, (*Model).throttle}, "TB.ACQUIRE": acquire(tokenBucket), "LB.ACQUIRE": acquire(leakyBucket), "LB.QUEUE": acquire(leakyQueue),
		"FW.ACQUIRE": acquire(fixedWindow), "SW.ACQUIRE": acquire(slidingWindow), "SL.ACQUIRE": acquire(slidingLog), "CC.ACQUIRE": acquire(concurrency),
		"BAL.ACQUIRE": acquire(balance), "BAL.ADD": {5, many, (*Model).addCredits}, "BAL.INFO": {2, 2, listCredits},
		"CC.RELEASE": {3, 3, (*Model).release}, "CC.HOLDERS": {2, 2, (*Model).holders}, "SL.LOG": {2, many, (*Model).grants},
		"RL.ALL": {2, many, (*Model).all}, "RL.EXTEND": {4, many, (*Model).extend}, "RL.SETTLE": {2, many, (*Model).settle}, "RL.CANCEL": {2, 2, (*Model).cancel}, "RL.CHECK": {3, many, (*Model).check}, "RL.POLICY": {2, many, (*Model).policy},
		"RL.LEND": {7, many, (*Model).lend}, "RL.RETURN": {6, many, (*Model).giveLoanBack}, "RL.VOID": {3, many, (*Model).void}, "RL.LENT": {2, 2, (*Model).lentTo},
		"RL.INFO": {2, 2, (*Model).info}, "RL.USAGE": {2, 2, usage}, "RL.REFUND": {3, 3, (*Model).refund}, "RL.ATMOST": {4, many, (*Model).atMost},
		"DEL": {2, many, (*Model).del}, "UNLINK": {2, many, (*Model).del}, "EXISTS": {2, many, (*Model).exists},
		"TTL": {2, 2, (*Model).ttl}, "PTTL": {2, 2, (*Model).pttl}, "TYPE": {2, 2, (*Model).typeOf},
		"GCRA": {5, 7, redisGCRA}, "INCREX": {2, many, redisIncrex}, "GET": {2, 2, get},
		"PING": {1, 2, func(*Model, []string) (string, error) { return status("PONG"), nil }},
	}
}

// Do returns the bytes that answer a command.
func (m *Model) Do(words ...string) string {
	name := strings.ToUpper(words[0])
	c, known := commands[name]
	if !known {
		panic("testmodel: no command " + name)
	}
	if len(words) < c.least || len(words) > c.most {
		return failure(refuse("ERR wrong number of arguments for '%s' command", strings.ToLower(name)))
	}
	reply, err := c.do(m, words)
	if err != nil {
		return failure(err)
	}
	return reply
}

// Held is [Model.Do] for a call whose reply may be delayed; due is the time of the reply.
func (m *Model) Held(words ...string) (reply string, due int64) {
	m.due = m.Now
	return m.Do(words...), m.due
}

const mostKey = 4096

func checkKey(key string) error {
	if len(key) > mostKey {
		return refuse("ERR key: at most %d bytes (--max-key-size), got %d", mostKey, len(key))
	}
	return nil
}

// readRequest reads a key, a limit and a lease's holder, and returns the words after them.
func readRequest(f *form, words []string) (r request, rest []string, err error) {
	r = request{key: words[0], tokens: 1}
	if err = checkKey(r.key); err != nil {
		return r, nil, err
	}
	end := 1 + f.words
	if r.limit, err = f.limit(words[1:end]); err != nil {
		return r, nil, err
	}
	if f.algorithm == concurrency {
		if r.holder = words[end-1]; r.holder == "" || len(r.holder) > 255 {
			err = refuse("ERR holder: must be 1 to 255 bytes, got %d", len(r.holder))
		} else if ttl := words[end-2]; isSwapped(ttl, r.holder) {
			err = refuse("ERR holder: '%s' is a duration, and the ttl '%s' has no unit; the ttl comes before the holder", r.holder, ttl)
		}
	}
	return r, words[end:], err
}

// isSwapped reports whether a holder is a duration with a unit after a ttl that is a whole number.
func isSwapped(ttl, holder string) bool {
	_, hasNoUnit := wholeNumber(ttl)
	_, isDuration := nanoseconds(holder)
	return hasNoUnit && isDuration && strings.Contains(letters, holder[len(holder)-1:])
}

// ask decides a request and stores the new state.
func (m *Model) ask(r *request) (answer, error) {
	s, err := m.heldFor(r.key, r.limit.algorithm)
	if err != nil {
		return answer{}, err
	}
	a, next, err := decide(s, r, m.Now)
	if next != nil && err == nil && !r.peek {
		m.keep(r.key, next)
	}
	m.spread(r, &a, err)
	return a, err
}

var bucketOptions = []string{"PEEK", "UPTO", "FORCE", "KEEP", "MAXWAIT", "BLOCK", "AS", "FOR", "WARN", "SPREAD"}

// acquireOptions are the options of the command of an algorithm, in the order in which an error lists them.
var acquireOptions = map[string][]string{
	tokenBucket: bucketOptions, leakyBucket: bucketOptions,
	leakyQueue: {"PEEK", "BLOCK", "WARN", "SPREAD"}, concurrency: {"PEEK", "BLOCK", "PRIORITY", "WARN"},
	fixedWindow: {"PEEK", "UPTO", "FORCE", "KEEP", "AS", "FOR", "TZ", "FROM", "HISTORY", "ROLLOVER", "WARN", "SPREAD"}, balance: {"PEEK", "UPTO", "FORCE", "AS", "FOR"},
	slidingWindow: {"PEEK", "UPTO", "FORCE", "KEEP", "AS", "FOR", "SEGMENTS", "WARN"},
	slidingLog:    {"PEEK", "UPTO", "FORCE", "KEEP", "AS", "FOR", "WARN"},
}

func acquire(algorithm string) command {
	f, name := formOf(algorithm), commandOf(algorithm)
	options := acquireOptions[algorithm]
	do := func(m *Model, words []string) (string, error) {
		r, rest, err := readRequest(f, words[1:])
		if err != nil {
			return "", err
		}
		if algorithm != concurrency {
			asks := "tokens"
			if algorithm == leakyBucket || algorithm == leakyQueue {
				asks = "amount"
			}
			if rest, err = r.readTokens(asks, rest); err != nil {
				return "", err
			}
		}
		if err = r.readOptions(name, rest, options); err != nil {
			return "", err
		}
		if r.priority && (algorithm != concurrency || !r.block) {
			return "", errPriority
		}
		if r.block && m.inMulti {
			r.wait = 0
		}
		if err := r.checkReserve(); err != nil {
			return "", err
		}
		if r.id != nil {
			return m.reserve(name, r)
		}
		a, err := m.ask(&r)
		if err != nil {
			return "", err
		}
		if r.block && a.granted && !r.peek && a.wait > 0 {
			m.due = m.Now + a.wait
			a.reset, a.wait = max(0, a.reset-a.wait), 0
		}
		a.warn = r.limit.warn
		return integers(a.withWarn(a.tokens, a.limit, a.remaining, millis(a.wait), millis(a.reset))...), nil
	}
	return command{2 + f.words, 1 << 20, do}
}

func commandOf(algorithm string) string {
	return map[string]string{tokenBucket: "TB.ACQUIRE", leakyBucket: "LB.ACQUIRE", leakyQueue: "LB.QUEUE", fixedWindow: "FW.ACQUIRE",
		slidingWindow: "SW.ACQUIRE", slidingLog: "SL.ACQUIRE", balance: "BAL.ACQUIRE", concurrency: "CC.ACQUIRE", gcra: "CL.THROTTLE"}[algorithm]
}

func (m *Model) throttle(words []string) (string, error) {
	r, rest, err := readRequest(formOf(gcra), words[1:])
	if err == nil && len(rest) > 0 {
		r.tokens, err = between("quantity", rest[0], 0, mostTokens)
	}
	if err != nil {
		return "", err
	}
	a, err := m.ask(&r)
	if err != nil {
		return "", err
	}
	seconds := func(nanos int64) int64 { return (nanos/millisecond + 999) / 1000 }
	limited, retry := int64(0), int64(-1)
	if !a.granted {
		if limited = 1; a.wait != never {
			retry = max(1, seconds(a.wait))
		}
	}
	return integers(limited, a.limit, a.remaining, retry, seconds(a.reset)), nil
}

func (m *Model) String() string {
	return fmt.Sprintf("%d keys at %d", len(m.keys), m.Now)
}

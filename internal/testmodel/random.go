package testmodel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Step is calls to a server at one time, and the bytes that must answer them.
type Step struct {
	At       int64 // the server's time, in nanoseconds since the Unix epoch
	Commands [][]string
	Replies  []string
	Multi    bool  // between MULTI and EXEC
	Due      int64 // time of the reply to a BLOCK that waits; 0 for every other step
}

// Calls makes random calls, and the model's answers to them.
type Calls struct {
	Model          *Model
	InTransactions bool // every call is between MULTI and EXEC, so no reply is held back

	random     *rand.Rand
	made       int
	of         int // total number of calls: over them the time advances by decades
	begin      int64
	keys       []*randomKey
	history    map[string][]string // the last calls on each key
	policy     bool                // policies are changed and shown
	hideCounts bool                // but not the counts of their decisions
	reserving  map[string][]string // the last call with each id
	knocking   []string            // the last call with a penalty of its own
	number     int64               // of the last operation on a loan
}

// randomKey is a key with the limit it is usually asked with.
type randomKey struct {
	name  string
	form  *form
	words []string // of its limit, without a holder
	wait  int64    // time at which a denied request would be granted, from its reply
}

const (
	keptHistory = 25
	span        = 70 * year // of the model's time
)

// NewCalls begins with a seed; of is the number of calls that will be made.
func NewCalls(seed uint64, of int) *Calls {
	begin := time.Date(2024, 2, 28, 23, 59, 58, 999_999_999, time.UTC).UnixNano()
	c := &Calls{Model: New(begin), random: rand.New(rand.NewPCG(seed, 1)), of: of, begin: begin, history: map[string][]string{}, policy: true, reserving: map[string][]string{}}
	for i := range forms {
		for n := range 5 {
			c.keys = append(c.keys, &randomKey{name: c.keyName(i, n), form: &forms[i]})
		}
	}
	return c
}

func (c *Calls) keyName(algorithm, n int) string {
	switch n {
	case 0:
		return fmt.Sprintf("k%d", algorithm)
	case 1:
		return fmt.Sprintf("\x00%d\r\n\xff", algorithm)
	case 2:
		return fmt.Sprintf("%d%s", algorithm, strings.Repeat("x", mostKey-1))
	}
	return fmt.Sprintf("{user:%d}:%d", n, algorithm)
}

// Made is the number of calls made.
func (c *Calls) Made() int { return c.made }

// History returns the last calls that named a key, with their replies and times.
func (c *Calls) History(command []string) (lines []string) {
	for _, name := range c.names() {
		if slices.Contains(command, name) {
			lines = append(lines, c.history[name]...)
		}
	}
	return lines
}

// names are the keys of limiters, of reservations and of data.
func (c *Calls) names() (names []string) {
	for _, k := range c.keys {
		names = append(names, k.name)
	}
	return append(append(names, reservationIDs...), dataKeys...)
}

// Next makes the next step.
func (c *Calls) Next() Step {
	c.move()
	s := Step{At: c.Model.Now}
	if !c.InTransactions && c.chance(40) {
		if s, ok := c.blocked(); ok {
			return s
		}
	}
	n, changed := 1, false
	if c.chance(3) {
		n += c.random.IntN(12)
	}
	s.Multi = c.InTransactions || n > 1 && c.chance(3)
	c.Model.inMulti = s.Multi
	for range n {
		command := c.command()
		// The leader does not know yet which keys a check asks for by a policy that the same transaction changes. It counts
		// tokens as taken from them that nobody took.
		if changed && strings.EqualFold(command[0], "RL.CHECK") {
			continue
		}
		changed = changed || c.InTransactions && strings.EqualFold(command[0], "RL.POLICY")
		reply := c.ask(command)
		if s.Multi && isWrongArity(reply) { // it would abort the transaction
			continue
		}
		s.Commands, s.Replies = append(s.Commands, command), append(s.Replies, reply)
	}
	c.Model.inMulti = false
	return s
}

func isWrongArity(reply string) bool {
	return strings.HasPrefix(reply, "-ERR wrong number of arguments") || strings.HasPrefix(reply, "-ERR unknown subcommand")
}

// ask returns the model's answer to a call, and records it.
func (c *Calls) ask(command []string) string {
	reply := c.Model.Do(command...)
	c.remember(command, reply)
	return reply
}

func (c *Calls) remember(command []string, reply string) {
	c.made++
	line := fmt.Sprintf("%d  %.300q  %.200q", c.Model.Now, command, reply)
	for _, name := range c.names() {
		if slices.Contains(command, name) {
			lines := append(c.history[name], line)
			c.history[name] = lines[max(0, len(lines)-keptHistory):]
		}
	}
}

// blocked is a BLOCK that waits, mostly. Afterwards the model's time is the time of the reply.
func (c *Calls) blocked() (s Step, ok bool) {
	command := c.blocking()
	if command == nil {
		return s, false
	}
	now := c.Model.Now
	reply, due := c.Model.Held(command...)
	if due == now {
		c.remember(command, reply)
		return Step{At: now, Commands: [][]string{command}, Replies: []string{reply}}, true
	}
	c.remember(command, reply)
	c.Model.Now = due
	return Step{At: now, Commands: [][]string{command}, Replies: []string{reply}, Due: due}, true
}

// chance is true once in oneIn times.
func (c *Calls) chance(oneIn int) bool { return c.random.IntN(oneIn) == 0 }

// pick is one of several texts.
func (c *Calls) pick(all ...string) string { return all[c.random.IntN(len(all))] }

// move sets the time to the boundary of a random key, a nanosecond to either side, a whole millisecond, or any time.
func (c *Calls) move() {
	if c.chance(4) {
		return
	}
	now := c.Model.Now
	to := now + int64(float64(millisecond)*c.logUniform(1e-6, 1e6))
	if !c.chance(5) {
		to = c.boundary()
	}
	switch c.random.IntN(5) {
	case 0:
		to--
	case 1:
		to++
	case 2:
		to -= to % millisecond
	case 3:
		to += millisecond - to%millisecond
	}
	// Time advances evenly over all calls, by decades in total; a step back leaves it unchanged.
	latest := c.begin + 30*day + int64(float64(c.made)/float64(c.of)*float64(span))
	if to < now || to > latest {
		to = now + c.random.Int64N(second)
	}
	c.Model.Now = to
}

// boundary is a time at which the state of a random key changes.
func (c *Calls) boundary() int64 {
	if s := c.Model.keys[c.pick(reservationIDs...)]; s != nil && c.chance(10) {
		return s.boundaries()[0]
	}
	if s := c.Model.keys[c.pick(dataKeys...)]; s != nil && c.chance(10) {
		return s.boundaries()[c.random.IntN(2)]
	}
	k := c.keys[c.random.IntN(len(c.keys))]
	if k.wait > c.Model.Now && c.chance(2) {
		return k.wait
	}
	if s := c.Model.keys[k.name]; s != nil {
		if all := s.boundaries(); len(all) > 0 {
			return all[c.random.IntN(len(all))]
		}
	}
	return 0
}

// logUniform is a random number whose logarithm is evenly spread.
func (c *Calls) logUniform(from, to float64) float64 {
	return from * math.Pow(to/from, c.random.Float64())
}

// Single makes one call at a time that the caller advances, and returns it with the bytes that must answer it.
func (c *Calls) Single(now int64) (command []string, reply string) {
	c.Model.Now = now
	command = c.command()
	return command, c.ask(command)
}

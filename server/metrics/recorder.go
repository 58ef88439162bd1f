package metrics

import (
	"runtime"
	"slices"
	"sync/atomic"
)

// Recorder counts the commands of all sessions. Its counters exist several times, in stripes, so that processors do not
// wait for each other. Read adds them up.
type Recorder struct {
	names   []string
	decides []bool
	stripes []stripe
	next    atomic.Uint32
}

type stripe struct {
	commands       []counters
	received, sent atomic.Int64
	_              [64]byte // puts the next stripe's bytes on another cache line
}

// counters are the counters of one command.
type counters struct {
	errors                      atomic.Int64
	granted, denied, failed     atomic.Int64
	tokensGranted, tokensDenied atomic.Int64
	latency                     atomic.Pointer[histogram] // nil until the command is first called
}

// NewRecorder returns a recorder that counts commands by their position in names, and unknown commands after them.
// decides says which commands grant or deny.
func NewRecorder(names []string, decides []bool) *Recorder {
	count := 1
	for count < 2*runtime.GOMAXPROCS(0) && count < 64 {
		count *= 2
	}
	r := &Recorder{
		names: append(slices.Clone(names), UnknownCommand), decides: append(slices.Clone(decides), false), stripes: make([]stripe, count),
	}
	for i := range r.stripes {
		r.stripes[i].commands = make([]counters, len(r.names))
	}
	return r
}

// UnknownCommand is the name under which unknown commands are counted.
const UnknownCommand = "(unknown)"

// Tally counts one turn of a session. Only one goroutine may use it at a time. Counts are visible after Flush.
type Tally struct {
	stripe  *stripe
	turn    []turnCounters
	touched []int // the commands that were counted
}

type turnCounters struct {
	commands int64
	Outcomes
}

// NewTally returns a tally that adds to r.
func (r *Recorder) NewTally() Tally {
	n := r.next.Add(1)
	return Tally{stripe: &r.stripes[int(n)%len(r.stripes)], turn: make([]turnCounters, len(r.names)), touched: make([]int, 0, len(r.names))}
}

// Unknown is the position of unknown commands.
func (r *Recorder) Unknown() int { return len(r.names) - 1 }

// command counts a command, by its position among the names.
func (t *Tally) command(number int) *turnCounters {
	c := &t.turn[number]
	if c.commands == 0 {
		t.touched = append(t.touched, number)
	}
	c.commands++
	return c
}

// Command counts a command that decides nothing, by its position among the names.
func (t *Tally) Command(number int, isError bool) {
	c := t.command(number)
	if isError {
		c.Errors++
	}
}

// Granted counts a command that was granted tokens. It was denied the rest of the tokens that it asked for.
func (t *Tally) Granted(number int, tokens, asked int64) {
	c := t.command(number)
	c.Granted++
	c.TokensGranted += tokens
	if asked > tokens {
		c.TokensDenied += asked - tokens
	}
}

// Denied counts a command that was denied tokens.
func (t *Tally) Denied(number int, tokens int64) {
	c := t.command(number)
	c.Denied++
	c.TokensDenied += tokens
}

// Failed counts a command that could not be decided: its reply was an error.
func (t *Tally) Failed(number int) {
	c := t.command(number)
	c.Errors++
	c.Failed++
}

// IsEmpty reports whether no command was counted since the last Flush.
func (t *Tally) IsEmpty() bool { return len(t.touched) == 0 }

// Flush ends the turn and returns the number of its commands. Their replies are sent together, so all took the same
// time.
func (t *Tally) Flush(nanos int64) (commands int64) {
	for _, number := range t.touched {
		from, to := &t.turn[number], &t.stripe.commands[number]
		latency := to.latency.Load()
		if latency == nil {
			to.latency.CompareAndSwap(nil, new(histogram))
			latency = to.latency.Load()
		}
		latency.add(max(nanos, 0), from.commands)
		commands += from.commands
		addTo(&to.errors, from.Errors)
		addTo(&to.granted, from.Granted)
		addTo(&to.denied, from.Denied)
		addTo(&to.failed, from.Failed)
		addTo(&to.tokensGranted, from.TokensGranted)
		addTo(&to.tokensDenied, from.TokensDenied)
		*from = turnCounters{}
	}
	t.touched = t.touched[:0]
	return commands
}

// addTo skips counters that do not change, because most turns only change two.
func addTo(counter *atomic.Int64, n int64) {
	if n != 0 {
		counter.Add(n)
	}
}

// Bytes counts received and sent bytes.
func (t *Tally) Bytes(received, sent int) {
	addTo(&t.stripe.received, int64(received))
	addTo(&t.stripe.sent, int64(sent))
}

// Outcomes counts the outcomes of commands.
type Outcomes struct {
	Errors                      int64 // replies that were errors
	Granted, Denied, Failed     int64 // decisions
	TokensGranted, TokensDenied int64
}

// add adds others the given number of times.
func (o *Outcomes) add(others *Outcomes, times int64) {
	o.Errors += times * others.Errors
	o.Granted += times * others.Granted
	o.Denied += times * others.Denied
	o.Failed += times * others.Failed
	o.TokensGranted += times * others.TokensGranted
	o.TokensDenied += times * others.TokensDenied
}

// Command is the counters of one command.
type Command struct {
	Name    string
	Decides bool // the command grants or denies
	Outcomes
	Latency Latencies // its Count is the number of calls
}

// Read adds up the stripes. It returns the counts of every command that was called or decides, and the bytes. A Flush
// at the same time may be included in part.
func (r *Recorder) Read() (commands []Command, received, sent int64) {
	for number, name := range r.names {
		c := Command{Name: name, Decides: r.decides[number]}
		for i := range r.stripes {
			from := &r.stripes[i].commands[number]
			if latency := from.latency.Load(); latency != nil {
				c.Latency.add(latency)
			}
			c.Errors += from.errors.Load()
			c.Granted += from.granted.Load()
			c.Denied += from.denied.Load()
			c.Failed += from.failed.Load()
			c.TokensGranted += from.tokensGranted.Load()
			c.TokensDenied += from.tokensDenied.Load()
		}
		if c.Decides || c.Latency.Count > 0 {
			commands = append(commands, c)
		}
	}
	for i := range r.stripes {
		received += r.stripes[i].received.Load()
		sent += r.stripes[i].sent.Load()
	}
	return commands, received, sent
}

// Decisions are the counts of all commands that decide, up to an instant.
type Decisions struct {
	Granted, Denied int64
	Latency         Latencies
}

// Decisions adds up the commands that decide.
func (r *Recorder) Decisions() (d Decisions) {
	for number, decides := range r.decides {
		for i := range r.stripes {
			if !decides {
				break
			}
			from := &r.stripes[i].commands[number]
			if latency := from.latency.Load(); latency != nil {
				d.Latency.add(latency)
			}
			d.Granted += from.granted.Load()
			d.Denied += from.denied.Load()
		}
	}
	return d
}

// Totals are sums over all commands.
type Totals struct {
	Commands, SumNanos int64
	Outcomes
}

// TotalsOf sums the counters of commands.
func TotalsOf(commands []Command) (t Totals) {
	for i := range commands {
		c := &commands[i]
		t.Commands += c.Latency.Count
		t.SumNanos += c.Latency.SumNanos
		t.add(&c.Outcomes, 1)
	}
	return t
}

// Rates returns the number of commands and of denials so far. It is cheaper than Read, for callers that ask many times
// a second.
func (r *Recorder) Rates() (commands, denied int64) {
	for i := range r.stripes {
		for number := range r.stripes[i].commands {
			from := &r.stripes[i].commands[number]
			denied += from.denied.Load()
			if latency := from.latency.Load(); latency != nil {
				for cell := range cellBounds {
					commands += latency.cells[cell].Load()
				}
			}
		}
	}
	return commands, denied
}

// Since returns the difference between two results of Read.
func Since(now, before []Command) (between []Command) {
	old := map[string]*Command{}
	for i := range before {
		old[before[i].Name] = &before[i]
	}
	for _, c := range now {
		if b := old[c.Name]; b != nil {
			c.Outcomes.add(&b.Outcomes, -1)
			c.Latency = c.Latency.Since(&b.Latency)
		}
		if c.Latency.Count > 0 {
			between = append(between, c)
		}
	}
	return between
}

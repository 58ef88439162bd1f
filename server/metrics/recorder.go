package metrics

import (
	"runtime"
	"slices"
	"sync/atomic"
)

// Recorder counts the commands of all sessions. Its counters exist several times, in stripes, so that processors do not
// wait for each other; a reading adds them up.
type Recorder struct {
	names   []string
	decides []bool
	stripes []stripe
	next    atomic.Uint32
}

type stripe struct {
	commands       []counters
	received, sent atomic.Int64
	_              [64]byte // the next stripe's bytes are on another cache line
}

// counters are those of one command.
type counters struct {
	errors                      atomic.Int64
	granted, denied, failed     atomic.Int64
	tokensGranted, tokensDenied atomic.Int64
	latency                     atomic.Pointer[histogram] // nil until the command first came
}

// NewRecorder counts commands by their position in names; decides says which of them grant or deny. One more counts those
// that do not exist.
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

// UnknownCommand is the name under which commands that do not exist are counted.
const UnknownCommand = "(unknown)"

// Tally counts one turn of one session; one goroutine uses it at a time. Turns that are not over are not in readings.
type Tally struct {
	stripe  *stripe
	turn    []turnCounters
	touched []int // the commands counted
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

// Unknown is the number of commands that do not exist.
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

// Granted counts a command that was granted tokens, of those asked for; the others it was denied.
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

// Failed counts a command that was to be decided and could not be: its reply was an error.
func (t *Tally) Failed(number int) {
	c := t.command(number)
	c.Errors++
	c.Failed++
}

// IsEmpty reports whether no command was counted since the last Flush.
func (t *Tally) IsEmpty() bool { return len(t.touched) == 0 }

// Flush ends the turn: its replies go out together, so all its commands took the same time. It returns how many they were.
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

// addTo spares the counters that do not change: most turns change two of them.
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

// Outcomes are the counts of what became of commands.
type Outcomes struct {
	Errors                      int64 // replies that were errors
	Granted, Denied, Failed     int64 // decisions
	TokensGranted, TokensDenied int64
}

// add adds others as often as times says.
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
	Decides bool // it is one that grants or denies
	Outcomes
	Latency Latencies // its Count is that of the commands
}

// Read adds up the stripes: the counts of every command that was called or decides, and the bytes. Counts that are added at the
// same time may be included in part.
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

// Decisions are the counts of all commands that decide, up to one instant.
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

// Rates are the two counters that are looked at many times a second: the commands and the denials so far.
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

// Since is the difference between two readings.
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

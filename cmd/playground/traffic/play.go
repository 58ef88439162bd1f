package traffic

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/limiter"
)

// start is when the traffic begins, in nanoseconds since the Unix epoch: at the beginning of a minute.
const start = 1_800_000_000 * int64(time.Second)

// bins is the number of parts into which an outcome divides the time.
const bins = 50

// Bin is what became of the requests that arrived in a part of the time.
type Bin struct {
	Granted int // requests that could go ahead at once
	Waiting int // requests that were granted and had to wait
	Denied  int
	Through int // requests that went ahead in this part of the time, at once or after their wait
}

// Caller is what became of the requests of one caller.
type Caller struct {
	Name           string
	Asked, Granted int
}

// Outcome is what became of all requests.
type Outcome struct {
	Bins                     []Bin // equal parts of the time, the first one first
	Granted, Waiting, Denied int   // as in a Bin
	LongestWait              time.Duration
	Callers                  []Caller // if {} in the command stands for the caller
}

// callers are those that {} in a command stands for: of five requests, one comes from the latter.
var callers = []string{"busy", "quiet"}

func callerOf(request int) int {
	if request%5 == 4 {
		return 1
	}
	return 0
}

// Play has the engine decide each request of a load by a command, such as TB.ACQUIRE user:7 10 5/s. In the command, {}
// stands for the name of the caller. A denied request does not come again.
func Play(line string, load Load) (Outcome, error) {
	arrivals, err := load.arrivals()
	if err != nil {
		return Outcome{}, err
	}
	o := Outcome{Bins: make([]Bin, bins)}
	var ops []engine.Op
	for _, name := range callers {
		op, err := parse(strings.ReplaceAll(line, "{}", name))
		if err != nil {
			return Outcome{}, err
		}
		ops = append(ops, op)
		if strings.Contains(line, "{}") {
			o.Callers = append(o.Callers, Caller{Name: name})
		}
	}
	p := player{keys: store.New(store.Config{Shards: 1}), work: load.Work}
	defer p.keys.Close()
	length := time.Duration(load.Seconds) * time.Second
	for i, at := range arrivals {
		caller := callerOf(i)
		granted, wait, err := p.decide(at, &ops[caller], i)
		if err != nil {
			return Outcome{}, err
		}
		o.count(at, length, granted, wait)
		if o.Callers != nil {
			o.Callers[caller].count(granted)
		}
	}
	return o, nil
}

func (c *Caller) count(granted bool) {
	c.Asked++
	if granted {
		c.Granted++
	}
}

// count counts a request that arrived at a time of a load of a length.
func (o *Outcome) count(at, length time.Duration, granted bool, wait time.Duration) {
	bin := &o.Bins[at*bins/length]
	switch {
	case !granted:
		bin.Denied++
		o.Denied++
		return
	case wait > 0:
		bin.Waiting++
		o.Waiting++
		o.LongestWait = max(o.LongestWait, wait)
	default:
		bin.Granted++
		o.Granted++
	}
	if at+wait < length {
		o.Bins[(at+wait)*bins/length].Through++
	}
}

// parse is the operation of a command that asks for tokens, as the server parses it.
func parse(line string) (engine.Op, error) {
	r := command.Request{Args: bytes.Fields([]byte(line)), Bounds: command.Bounds{MaxKeyBytes: 512, MaxLogLimit: 10000}}
	if len(r.Args) == 0 {
		return engine.Op{}, errors.New("type a command, such as TB.ACQUIRE user:7 10 5/s")
	}
	known, err := command.Find(r.Args)
	if err == nil {
		err = known.Parse(&r)
	}
	if err != nil {
		return engine.Op{}, err
	}
	if len(r.Ops) != 1 || r.Ops[0].Verb != engine.Acquire && r.Ops[0].Verb != engine.AcquireAll {
		return engine.Op{}, fmt.Errorf("%s cannot be tried here: it asks no limit for tokens", r.Args[0])
	}
	return r.Ops[0], nil
}

// lease is a lease of a concurrency limit, which its holder ends when its work is done.
type lease struct {
	key, holder []byte
	ends        time.Duration
}

type player struct {
	keys    *store.Store
	work    time.Duration
	results [1]engine.Result
	leases  []lease // those that have not ended, the first to end first
}

// concurrent are the concurrency limits that an operation asks.
func concurrent(op *engine.Op) (all []*engine.Op) {
	if op.Limit.Algorithm == limits.Concurrency {
		all = append(all, op)
	}
	for i := range op.Parts {
		all = append(all, concurrent(&op.Parts[i])...)
	}
	return all
}

// decide has the engine decide a request.
func (p *player) decide(at time.Duration, op *engine.Op, request int) (granted bool, wait time.Duration, err error) {
	for len(p.leases) > 0 && p.leases[0].ends <= at {
		l := p.leases[0]
		p.leases = p.leases[1:]
		p.apply(l.ends, engine.Op{Verb: engine.Release, Key: l.key, Who: l.holder})
	}
	holder := strconv.AppendInt(nil, int64(request), 10) // the one in the command would renew its lease
	held := concurrent(op)
	for _, limit := range held {
		limit.Who = holder
	}
	res := p.apply(at, *op)
	switch res.Status {
	case engine.OK:
	case engine.DuplicateKey:
		return false, 0, command.ErrDuplicateKey
	default:
		return false, 0, command.ErrDebtTooBig // the store has no bounds on memory, so nothing else is refused
	}
	wait = time.Duration(res.Wait)
	if !res.Allowed {
		return false, 0, nil
	}
	for _, limit := range held {
		l := lease{limit.Key, holder, at + wait + p.work}
		place, _ := slices.BinarySearchFunc(p.leases, l, func(a, b lease) int { return int(a.ends - b.ends) })
		p.leases = slices.Insert(p.leases, place, l)
	}
	return true, wait, nil
}

func (p *player) apply(at time.Duration, op engine.Op) *engine.Result {
	p.keys.Apply(start+int64(at), []engine.Op{op}, p.results[:])
	return &p.results[0]
}

func init() { command.Register(limiter.Rows()) } // the commands on limits alone: the others would double the program

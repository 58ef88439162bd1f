package server

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// provider answers 1000 requests in any minute, by an exact log, and refuses the rest.
type provider struct {
	log               []int64 // when requests of the last minute came, nanoseconds
	accepted, refused int
	most              int // in any minute
}

func (p *provider) request(now int64) {
	for len(p.log) > 0 && p.log[0] <= now-int64(time.Minute) {
		p.log = p.log[1:]
	}
	if len(p.log) >= 1000 {
		p.refused++
		return
	}
	p.log = append(p.log, now)
	p.accepted++
	p.most = max(p.most, len(p.log))
}

// worker is one of the pool: it waits for the server, or is on its way to the provider or back, until a time.
type worker struct {
	name    string
	waits   bool
	arrives int64 // at the provider, 0 once it has
	back    int64
}

// pool plays workers against a provider by the server's clock.
type pool struct {
	*sessionPlayer
	t       *testing.T
	command []string
	jitter  func(now int64) time.Duration
	workers []*worker
	resting int64 // until then nobody asks
	provider
}

// ask has a worker send its command.
func (p *pool) ask(w *worker) {
	reply, err := p.Do(w.name, bytesOf(p.command), "")
	p.answer(w, reply, err)
}

func (p *pool) answer(w *worker, reply string, err error) {
	switch {
	case err != nil:
		p.t.Fatal(err)
	case reply == "(held)":
		w.waits = true
	case strings.HasPrefix(reply, "[1 "):
		now := p.clock.Now()
		w.waits, w.arrives = false, now+int64(p.jitter(now))
		w.back = w.arrives + int64(20*time.Millisecond)
	default:
		p.t.Fatalf("%s is answered %s", w.name, reply)
	}
}

// next is when something happens next.
func (p *pool) next() (at int64) {
	at = 1<<63 - 1
	if due, ok := p.env.WaitQueue.Next(); ok {
		at = due
	}
	for _, w := range p.workers {
		if w.arrives > 0 {
			at = min(at, w.arrives)
		} else if !w.waits {
			at = min(at, w.back)
		}
	}
	return at
}

// run has everything happen for a while.
func (p *pool) run(span time.Duration) {
	for end := p.clock.Now() + int64(span); ; {
		at := p.next()
		if at > end {
			p.Advance(time.Duration(end - p.clock.Now()))
			return
		}
		p.Advance(time.Duration(at - p.clock.Now()))
		for _, w := range p.workers {
			switch {
			case w.waits:
				if reply, err := p.Next(w.name); reply != "(held)" {
					p.answer(w, reply, err)
				}
			case w.arrives == at:
				p.request(at)
				w.arrives = 0
			case w.arrives == 0 && w.back <= at && at < p.resting:
				w.back = p.resting
			case w.arrives == 0 && w.back <= at:
				p.ask(w)
			}
		}
	}
}

// The recipe's commands keep to a provider's quota, or not, according to the page: with workers that want more than
// there is, after pauses that fill every bucket, and with requests that take up to the jitter on their way.
func TestWorkerPoolRecipe(t *testing.T) {
	page, err := os.ReadFile("../docs/recipes/worker-pool.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), `"LB.QUEUE", "geocoder", 100, "980/m", "BLOCK", "1m"`) {
		t.Error("the page's program does not ask as its first row does")
	}
	rows := regexp.MustCompile("(?m)^\\| `(.* geocoder .*)` \\|.*\\| (none|[0-9.]+ s).*\\|.*\\|$").FindAllStringSubmatch(string(page), -1)
	if len(rows) != 3 {
		t.Fatalf("the page has %d rows", len(rows))
	}
	for i, row := range rows {
		jitter, _ := time.ParseDuration(strings.ReplaceAll(row[2], " ", "")) // 0 for none
		random := rand.New(rand.NewPCG(7, uint64(i)))
		for name, of := range map[string]func(now int64) time.Duration{
			"none":      func(int64) time.Duration { return 0 },
			"at random": func(int64) time.Duration { return time.Duration(random.Int64N(int64(jitter) + 1)) },
			"the first minute late, the next early": func(now int64) time.Duration {
				if (now-testStart.UnixNano())/int64(time.Minute)%2 == 0 {
					return jitter
				}
				return 0
			},
		} {
			t.Run(row[1]+", jitter "+name, func(t *testing.T) {
				p := &pool{sessionPlayer: newSessionPlayer(t, 0), t: t, command: strings.Fields(row[1]), jitter: of}
				for n := range 30 {
					w := &worker{name: fmt.Sprint("worker ", n)}
					p.workers = append(p.workers, w)
					p.ask(w)
				}
				p.run(5 * time.Minute)
				first := p.accepted
				p.resting = p.clock.Now() + int64(2*time.Minute)
				p.run(5 * time.Minute)
				if isTooMany := row[2] == "none"; (p.refused > 0) != isTooMany {
					t.Errorf("the provider refused %d requests, at most %d in a minute", p.refused, p.most)
				}
				if first < 5*860 || p.most < 950 {
					t.Errorf("only %d in 5 minutes, at most %d in one", first, p.most)
				}
			})
		}
	}
}

package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
	"unsafe"
)

// Plan describes a replay.
type Plan struct {
	Paths     []string // of logs, whose lines may be compressed with gzip; - is Stdin
	Stdin     io.Reader
	Format    string   // one of [FormatNames], or empty to guess it
	Key       []string // fields, joined with colons
	TimeField string   // of JSON; empty for the usual names
	Zone      *time.Location
	MaxMemory int64 // bytes of keys and of the states of limits
	Top       int   // keys listed
	Except    int   // keys with the most requests that [Plan.Suggest] leaves out
	Limits    []*Limits
	Progress  func(reading int, requests int64, share float64) // called now and then; share is 0 if unknown

	readings int     // of the log, for [Plan.Suggest] reads it several times
	record   *record // of its requests, nil if none is made
}

// replay is the state of one run.
type replay struct {
	*Plan
	clock      clock
	parser     parser
	fields     []string // names and values of the fields by turns, for templates
	values     [][]byte
	named      [][]byte
	key        []byte
	keys       *keyTable
	requests   blocks[uint64] // by key
	bytes      int64          // of requests
	candidates []*candidate
	series     series
	busy       busy
	start, now int64
	report     *Report
}

// ErrMemory is the reason to stop at Plan.MaxMemory.
var ErrMemory = errors.New("memory")

// checkEvery is the number of lines between two looks at memory, progress and the end of the context.
const checkEvery = 1 << 14

// Run reads the log and returns the effect of the limits.
func (p *Plan) Run(ctx context.Context) (*Report, error) {
	p.readings++
	r := &replay{Plan: p, keys: newKeyTable(), clock: clock{zone: p.Zone}, report: &Report{Key: p.Key}}
	r.fields = slices.Clone(p.Key)
	for _, l := range p.Limits {
		names, err := l.Names()
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !slices.Contains(r.fields, name) {
				r.fields = append(r.fields, name)
			}
		}
		r.candidates = append(r.candidates, newCandidate(l))
	}
	r.values, r.named = make([][]byte, len(r.fields)), make([][]byte, 2*len(r.fields))
	for i, f := range r.fields {
		r.named[2*i] = []byte(f)
	}
	source, err := openSource(p.Paths, p.Stdin)
	if err != nil {
		return nil, err
	}
	defer source.close()
	if err := r.read(ctx, source); err != nil {
		return nil, err
	}
	r.finish()
	if r.report.Requests == 0 {
		if r.report.FirstUnread == "" {
			return nil, errors.New("the log contains no requests")
		}
		return nil, fmt.Errorf("no line could be read; %s", r.report.FirstUnread)
	}
	return r.report, nil
}

func (r *replay) read(ctx context.Context, s *source) error {
	for lines := 1; ; lines++ {
		line, first, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r.report.Lines++
		if first {
			if r.parser, r.report.Format, err = newParser(r.Format, bytes.TrimSpace(line), r.fields, r.TimeField, &r.clock); err != nil {
				return err
			}
		}
		if len(line) == 0 {
			continue
		}
		if s.long {
			r.unread(line, fmt.Errorf("it is longer than %d bytes", maxLine))
			continue
		}
		if now, err := r.parser.parse(line, r.values); err != nil {
			r.unread(line, err)
		} else {
			r.request(now)
		}
		if lines%checkEvery == 0 {
			if err := r.check(ctx, s); err != nil {
				return err
			}
		}
	}
}

// unread counts a line that could not be read.
func (r *replay) unread(line []byte, why error) {
	if r.report.Unread++; r.report.Unread == 1 {
		r.report.FirstUnread = fmt.Sprintf("line %d: %v: %s", r.report.Lines, why, shorten(line))
	}
}

// request replays one request, whose fields are in values.
func (r *replay) request(now int64) {
	if r.report.Requests == 0 {
		r.start, r.now = now, now
	}
	if now < r.now { // the engine's clock does not go back
		r.report.Backwards++
		r.report.FurthestBack = max(r.report.FurthestBack, r.now-now)
		now = r.now
	}
	r.now = now
	r.report.Requests++
	for i, v := range r.values {
		r.named[2*i+1] = v
	}
	key := r.values[0]
	if len(r.Key) > 1 {
		r.key = append(r.key[:0], key...)
		for _, v := range r.values[1:len(r.Key)] {
			r.key = append(append(r.key, ':'), v...)
		}
		key = r.key
	}
	key = key[:min(len(key), maxKey)]
	n := r.keys.number(key)
	if n == r.requests.len {
		_, grown := r.requests.add()
		r.bytes += grown * int64(unsafe.Sizeof(uint64(0)))
	}
	count := r.requests.get(n)
	*count++
	if r.record != nil && !r.record.full {
		r.record.add(n, now)
	}
	at := uint32(min((now-r.start)/int64(time.Second), math.MaxUint32))
	r.series.add(at)
	k := r.busy.of(n, *count, len(r.candidates), func(key int) uint64 { return *r.requests.get(key) })
	if k != nil {
		k.requests.add(at)
	}
	for i, c := range r.candidates {
		denied := c.ask(now, key, r.named)
		c.note(n, at, denied)
		if !denied {
			continue
		}
		c.series.add(at)
		if k != nil {
			k.denied[i].add(at)
		}
	}
}

// memory is how many bytes the keys and the states of limits take.
func (r *replay) memory() int64 {
	sum := r.keys.bytes + r.bytes
	for _, c := range r.candidates {
		sum += c.bytes + c.trial.Bytes()
	}
	return sum
}

// check shows progress, sweeps, and looks whether to stop.
func (r *replay) check(ctx context.Context, s *source) error {
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	if r.record != nil && r.memory()+r.record.bytes > r.MaxMemory {
		r.record.giveUp()
	}
	r.report.Memory = max(r.report.Memory, r.memory())
	if used := r.memory(); used > r.MaxMemory {
		return fmt.Errorf("%w: %d keys in the first %d requests take %d bytes, more than the %d allowed: raise --max-memory, or choose a --key with fewer values",
			ErrMemory, r.keys.len(), r.report.Requests, used, r.MaxMemory)
	}
	for _, c := range r.candidates {
		c.sweep(r.now)
	}
	if r.Progress != nil {
		share := 0.0
		if s.total > 0 {
			share = float64(s.read.n) / float64(s.total)
		}
		r.Progress(r.readings, r.report.Requests, share)
	}
	return nil
}

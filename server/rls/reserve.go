package rls

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/redcon"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/limiter"
)

// Reservation takes the hits of a request before its work begins. The settlement with the same id books what the work
// used.
type Reservation struct {
	*Plan
	ID string // unique; "" if nothing can be taken
}

// MaxTTL is the longest time for which a request can be reserved.
const MaxTTL = 24 * time.Hour

// settleLate is how long after its end a reservation is remembered, so that a late settlement finds that it was
// returned.
const settleLate = time.Minute

const idBytes = 16

func newID() string {
	random := make([]byte, idBytes)
	_, _ = rand.Read(random) // never fails
	return hex.EncodeToString(random)
}

// isID reports whether a text has the form of newID.
func isID(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == idBytes
}

// Reserve writes the commands that take the hits of a request under a new id. If a rule denies the request in any case,
// they take nothing.
func (r *Rules) Reserve(req *Request, ttl time.Duration, now time.Time) (*Reservation, error) {
	if ttl <= 0 || ttl > MaxTTL {
		return nil, invalid("its ttl is %v; it must be more than 0 and at most %v", ttl, MaxTTL)
	}
	p, err := r.plan(req, now)
	if err != nil {
		return nil, err
	}
	if p.isDenied() {
		p.writeTogether(addLimit)
		p.finish(func(_ int, words *command.Words) { words.Option("PEEK") })
		return &Reservation{Plan: p}, nil
	}
	s := &Reservation{Plan: p, ID: newID()}
	p.writeTogether(func(words *command.Words, rule *Rule, key string, _ uint64) {
		limiter.AppendLimit(words, rule.word, key, rule.params...)
	})
	remember := fmt.Sprintf("%dms", (ttl + settleLate).Milliseconds())
	p.finish(func(n int, words *command.Words) {
		if of := &p.asks[n]; of.kind == askAll {
			words.Option("TOKENS")
			words.Count(req.Descriptors[of.descriptors[0]].Hits)
		}
		words.Value("AS", reservationKey(req.Domain, s.ID, p.asks[n].descriptors[0]))
		words.Value("FOR", remember)
	})
	return s, nil
}

// Held has what is needed to give a reservation back. It does not keep the request alive.
type Held struct {
	domain, id string
	firsts     []int // the first descriptor of each command that reserved
}

// Held returns what is needed to give the reservation back. It is empty if nothing can be taken.
func (s *Reservation) Held() Held {
	h := Held{domain: strings.Clone(s.request.Domain), id: s.ID}
	if s.ID != "" {
		for n := range s.asks {
			h.firsts = append(h.firsts, s.asks[n].descriptors[0])
		}
	}
	return h
}

// Bytes estimates the memory that h uses.
func (h Held) Bytes() int { return len(h.domain) + len(h.id) + 8*len(h.firsts) }

// Cancel returns the commands that give back all that was taken.
func (h Held) Cancel() (commands []command.Words) {
	for _, first := range h.firsts {
		commands = append(commands, command.NewWords("RL.CANCEL", reservationKey(h.domain, h.id, first)))
	}
	return commands
}

// Settlement books the tokens that the work of a request used.
type Settlement struct {
	*Plan
}

// Settle writes the commands that book the hits of a request that was reserved under an id. Their replies go to
// Unsettled.
func (r *Rules) Settle(req *Request, id string, now time.Time) (*Settlement, error) {
	p, err := r.plan(req, now)
	if err != nil {
		return nil, err
	}
	p.writeTogether(addLimit) // finds the commands that reserved
	for n := range p.asks {
		first := p.asks[n].descriptors[0]
		p.Commands[n] = command.NewWords("RL.SETTLE", reservationKey(req.Domain, id, first))
		p.Commands[n].Count(req.Descriptors[first].Hits)
	}
	if !isID(id) {
		p.Commands = nil // nothing can be reserved under this id
	}
	return &Settlement{p}, nil
}

// Unsettled returns the commands that book in limits that had no reservation, or whose reservation was given back.
// Their replies go to Booked. released reports whether anything was reserved.
func (s *Settlement) Unsettled(replies []redcon.RESP) (report []command.Words, released bool, err error) {
	var rest []int
	if len(replies) < len(s.Commands) {
		return nil, false, s.failure(replies)
	}
	for n := range s.asks {
		switch {
		case len(s.Commands) == 0, replies[n].Type == redcon.Bulk, string(replies[n].Data) == command.ErrSettledOtherwise.Error():
			rest = append(rest, s.asks[n].descriptors...)
		case replies[n].Type == redcon.Error:
			return nil, false, s.failure(replies[n:])
		default:
			released = true
		}
	}
	return s.report(rest), released, nil
}

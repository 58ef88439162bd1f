package shared

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/purse"
	"github.com/stintdb/stint/internal/loans"
)

// homes is, for each key, the group that has it.
type homes struct{ *Limits }

func (h homes) Do(ops ...engine.Op) []engine.Result { return h.do(0, ops...) }
func (h homes) Turns(key []byte) loans.Turns        { return h.turnsOf(h.opt.Router.Home(key)) }
func (h homes) IsReachable() bool                   { return true }

// purses has the purses of all groups, at the number of the group.
type purses struct{ *Limits }

func (p purses) Do(at int, ops ...engine.Op) []engine.Result           { return p.do(at, ops...) }
func (p purses) Turns(at int) loans.Turns                              { return p.turnsOf(at) }
func (p purses) Holder(at int) string                                  { return holderOf(at) }
func (p purses) InPurse(limit limits.Limit) (of limits.Limit, ok bool) { return limit.InPurse() }

// Replicas leaves out purses of a group's own keys: their tokens are another cluster's.
func (p purses) Replicas() (all []loans.Replica) {
	for _, g := range p.opt.Replicas() {
		each := func(visit func([]byte, limits.Limit, purse.Purse)) {
			if g.Store.AwayPurseCount() == 0 {
				return
			}
			g.Store.Purses(func(name []byte, limit limits.Limit, of purse.Purse) {
				if p.opt.Router.Home(name) != g.Number {
					visit(name, limit, of)
				}
			})
		}
		all = append(all, loans.Replica{At: g.Number, Leads: g.Leads, Now: g.Now, Each: each})
	}
	return all
}

// turnsOf returns the turns of a group.
func (l *Limits) turnsOf(group int) loans.Turns {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.turns[group] == nil {
		l.turns[group] = loans.NewTurns()
	}
	return l.turns[group]
}

// holderOf returns the name of a group as the holder of a loan.
func holderOf(group int) string { return fmt.Sprint(keyspace.GroupHolder, group) }

// groupOf returns the group whose name is that of a holder.
func groupOf(holder []byte) (group int, is bool) {
	number, is := bytes.CutPrefix(holder, []byte(keyspace.GroupHolder))
	group, err := strconv.Atoi(string(number))
	return group, is && err == nil
}

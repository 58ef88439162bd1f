// Package share divides each pass of an event loop between the owners of its connections.
package share

import (
	"slices"

	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/conn/wait"
)

// Passes divides each pass of one event loop between the owners of its sessions: see [Owner]. In a pass, the commands
// of an owner take a bounded amount of work, however many connections it has. Once that is used up, the input of its
// sessions waits in a line for the next passes. Only the goroutine of the loop uses it.
type Passes struct {
	number int64
	shares map[string]*Share
	lines  []*Share // the shares with a line, in the order in which they take turns
}

// Owner names the user and the network whose sessions share their turns; the user is nil before a session has logged
// in.
func Owner(user *acl.User, network string) string {
	if user == nil {
		return network
	}
	return user.Name() + "@" + network
}

// Member is the part of a session in the shares of its event loop. A session without a loop has a share of its own,
// which begins anew with each turn.
type Member struct {
	passes  *Passes
	serve   func()      // gives the session a turn without input
	waits   *wait.State // of the session
	share   *Share      // of the owner, or own
	own     Share
	charged int       // the work of the share when it was last charged for time
	user    *acl.User // whose share it is
	hasTurn bool      // its input has waited for this turn
}

// Init gives a session a share of its own.
func (m *Member) Init(waits *wait.State) { m.share, m.waits = &m.own, waits }

// Join adds a session to those of the loop. serve gives it a turn without input.
func (p *Passes) Join(m *Member, serve func()) { m.passes, m.serve = p, serve }

// HasLoop reports whether the session is one of an event loop with passes.
func (m *Member) HasLoop() bool { return m.passes != nil }

// Begin begins a pass. One owner after the other, the sessions whose input waits go on until the share of their owner
// is used up.
func (p *Passes) Begin() {
	p.number++
	for range p.lines {
		sh := p.lines[0]
		p.lines = append(p.lines[:0], p.lines[1:]...)
		sh.isListed = false
		sh.begin(p.number)
		p.serve(sh)
		p.list(sh)
	}
}

// list keeps a share for the next pass if it has a line.
func (p *Passes) list(sh *Share) {
	if len(sh.line) > 0 && !sh.isListed {
		sh.isListed = true
		p.lines = append(p.lines, sh)
	}
}

// serve serves the sessions in the line of an owner until its share is used up.
func (p *Passes) serve(sh *Share) {
	for len(sh.line) > 0 && !sh.isUsedUp() {
		m := sh.line[0]
		sh.line = append(sh.line[:0], sh.line[1:]...)
		m.waits.Happen(wait.ForTurn)
		m.serve()
	}
	if len(sh.line) == 0 {
		sh.line = nil
	}
}

// Waits reports whether input of a session waits for the next pass.
func (p *Passes) Waits() bool { return len(p.lines) > 0 }

// BeginTurn gives a session the share of its owner in this pass. Without a loop, its own share begins anew.
func (m *Member) BeginTurn(user *acl.User, network string) {
	if m.hasTurn = m.waits.IsDue(wait.ForTurn); m.hasTurn {
		m.waits.End(wait.ForTurn)
	}
	if m.passes == nil {
		m.own.work, m.charged = turnWork, 0
		return
	}
	if user != m.user || m.share == &m.own {
		m.user = user
		m.join(Owner(user, network))
	}
	m.share.begin(m.passes.number)
	m.charged = m.share.work
	m.Charge(turnWork)
}

// HasTurn reports whether the session's input waited for this turn.
func (m *Member) HasTurn() bool { return m.hasTurn }

// join gives a session the share of its owner. The owner may have changed.
func (m *Member) join(owner string) {
	if m.share != &m.own && m.share.of == owner {
		return
	}
	waited := m.Leave()
	p := m.passes
	sh := p.shares[owner]
	if sh == nil {
		if p.shares == nil {
			p.shares = make(map[string]*Share)
		}
		sh = &Share{of: owner}
		p.shares[owner] = sh
	}
	sh.sessions++
	m.share = sh
	if waited {
		m.WaitForPass()
	}
}

// WaitForPass puts a session of a loop at the end of its owner's line.
func (m *Member) WaitForPass() {
	m.share.line = append(m.share.line, m)
	m.passes.list(m.share)
}

// Leave takes a session from the share of its owner, and from the line; it reports whether the session was in the line.
func (m *Member) Leave() (waited bool) {
	sh := m.share
	if sh == &m.own || m.passes == nil {
		return false
	}
	m.share = &m.own
	i := slices.Index(sh.line, m)
	if i >= 0 {
		sh.line = slices.Delete(sh.line, i, i+1)
	}
	if sh.sessions--; sh.sessions == 0 {
		delete(m.passes.shares, sh.of)
	}
	return i >= 0
}

// HoldsUp reports whether the session's input has to wait for another pass: the share is used up, or other sessions
// have waited for longer.
func (m *Member) HoldsUp() bool {
	return m.share.isUsedUp() || len(m.share.line) > 0 && !m.hasTurn
}

// SendsMore charges the owner for bytes that were sent after the kernel had not taken them at once, and reports whether
// more may be sent in this pass.
func (m *Member) SendsMore(sent int) bool {
	m.share.begin(m.passes.number)
	m.Charge(sent / sentBytes)
	return !m.share.isUsedUp()
}

package conn

import (
	"slices"

	"github.com/stintdb/stint/engine/store"
)

// Passes divides the passes of one event loop between the owners of its sessions: see [Session.owner]. In each pass, the commands of an
// owner take a bounded sum of work, whatever the number of its connections. The input of its other sessions waits in a line for the next
// passes. The goroutine of the loop alone uses it.
type Passes struct {
	number int64
	shares map[string]*share
	lines  []*share // those with a line, in the order in which they take turns
}

// share is what an owner has of a pass: a session without a loop has its own, of each turn.
type share struct {
	ownerName string
	pass      int64
	work      int        // in that pass, in units of engine.Result.Work
	line      []*Session // whose input waits for the next passes
	isListed  bool       // in [Passes.lines]
	sessions  int
}

const (
	// passWork is the work of an owner in a pass, 1 to 2 ms, after which its input waits.
	passWork = loopWork
	// turnWork is the work of a turn beside its commands: some microseconds, for a read and a write.
	turnWork = 10 * store.OpWork
	// parseWork is the work of a command beside its operations, and each 64 bytes of it take one more.
	parseWork = store.OpWork / 2
	// wordWork is the work of writing a word of a reply.
	wordWork = 2
	// sentBytes is the number of bytes of a reply that take one: each is copied to the connection, to the kernel, and to the client.
	sentBytes = 16
)

// Begin begins a pass: sessions whose input waits go on, owners by turns, as far as their shares allow.
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

// list keeps a share with a line for the next pass.
func (p *Passes) list(sh *share) {
	if len(sh.line) > 0 && !sh.isListed {
		sh.isListed = true
		p.lines = append(p.lines, sh)
	}
}

// serve serves the sessions in the line of an owner until its share is used up.
func (p *Passes) serve(sh *share) {
	for len(sh.line) > 0 && !sh.isUsedUp() {
		s := sh.line[0]
		sh.line = append(sh.line[:0], sh.line[1:]...)
		s.wait.happen(ForTurn)
		s.serve()
	}
	if len(sh.line) == 0 {
		sh.line = nil
	}
}

// Waits reports whether input of a session waits for the next pass.
func (p *Passes) Waits() bool { return len(p.lines) > 0 }

// join gives a session the share of its owner. The owner may have changed.
func (p *Passes) join(s *Session) {
	owner := s.owner()
	if s.share != &s.ownShare && s.share.ownerName == owner {
		return
	}
	p.leave(s)
	sh := p.shares[owner]
	if sh == nil {
		if p.shares == nil {
			p.shares = make(map[string]*share)
		}
		sh = &share{ownerName: owner}
		p.shares[owner] = sh
	}
	sh.sessions++
	s.share = sh
}

// leave takes a session from the share of its owner, and from the line.
func (p *Passes) leave(s *Session) {
	sh := s.share
	if sh == &s.ownShare {
		return
	}
	s.share = &s.ownShare
	if i := slices.Index(sh.line, s); i >= 0 {
		sh.line = slices.Delete(sh.line, i, i+1)
	}
	if sh.sessions--; sh.sessions == 0 {
		delete(p.shares, sh.ownerName)
	}
}

// begin makes the share that of a pass.
func (sh *share) begin(pass int64) {
	if sh.pass != pass {
		sh.pass, sh.work = pass, 0
	}
}

func (sh *share) isUsedUp() bool { return sh.work >= passWork }

// beginShare makes the session's share that of its owner in this pass.
func (s *Session) beginShare() {
	if s.passes == nil {
		s.ownShare.work = turnWork
		return
	}
	if s.user != s.sharesAs || s.share == &s.ownShare {
		s.sharesAs = s.user
		s.passes.join(s)
	}
	s.share.begin(s.passes.number)
	s.share.work += turnWork
}

// mustWait reports whether the session's input is to wait for another turn: the share of its owner is used up, or other sessions of the
// owner have waited for longer.
func (s *Session) mustWait() bool {
	return s.share.isUsedUp() || len(s.share.line) > 0 && !s.hasTurn
}

// Charge adds work done for this session to the share of its owner, in units of [engine.Result.Work]. The session's goroutine calls it.
func (s *Session) Charge(work int) { s.share.work += work }

// resumeLater has the rest of the input executed once others have had their turn.
func (s *Session) resumeLater() {
	if s.passes != nil {
		s.share.line = append(s.share.line, s)
		s.passes.list(s.share)
		return
	}
	goOn := func() {
		s.wait.happen(ForTurn)
		s.wake()
	}
	if s.runLater == nil {
		goOn()
		return
	}
	s.runLater(goOn)
}

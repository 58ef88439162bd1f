package conn

import (
	"slices"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/resp"
)

// Passes divides each pass of one event loop between the owners of its sessions: see [ownerName]. In a pass, the commands of an owner
// take a bounded amount of work, however many connections it has. Once that is used up, the input of its sessions waits in a line for the next
// passes. Only the goroutine of the loop uses it.
type Passes struct {
	number int64
	shares map[string]*share
	lines  []*share // the shares with a line, in the order in which they take turns
}

// share is the part of a pass that an owner has. A session without a loop has a share of its own, which begins anew with each turn.
type share struct {
	ownerName string
	pass      int64
	work      int        // done in that pass, in units of engine.Result.Work
	line      []*Session // the sessions whose input waits for the next passes
	isListed  bool       // in [Passes.lines]
	sessions  int
}

const (
	// passWork is the work in a pass, 1 to 2 ms, after which the input of an owner waits.
	passWork = loopWork
	// turnWork is the work of a turn without its commands: some microseconds, for a read and a write.
	turnWork = 10 * store.OpWork
	// parseWork is the work of a command without its operations; each 64 bytes of the command add 1.
	parseWork = store.OpWork / 2
	// wordWork is the work of writing a word of a reply.
	wordWork = 2
	// sentBytes is the number of bytes of a reply whose work is 1: each byte is copied to the connection, to the kernel, and to the client.
	sentBytes = 16
)

// Serve adds a session of the loop. turn gives the session a turn without input.
func (p *Passes) Serve(s *Session, turn func()) { s.passes, s.serve = p, turn }

// Begin begins a pass. One owner after the other, the sessions whose input waits go on until the share of their owner is used up.
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
	owner := ownerName(s.user, s.network)
	if s.share != &s.ownShare && s.share.ownerName == owner {
		return
	}
	waited := p.leave(s)
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
	if waited {
		p.wait(s)
	}
}

// wait puts a session at the end of its owner's line.
func (p *Passes) wait(s *Session) {
	s.share.line = append(s.share.line, s)
	p.list(s.share)
}

// leave takes a session from the share of its owner, and from the line; it reports whether the session was in the line.
func (p *Passes) leave(s *Session) (waited bool) {
	sh := s.share
	if sh == &s.ownShare {
		return false
	}
	s.share = &s.ownShare
	i := slices.Index(sh.line, s)
	if i >= 0 {
		sh.line = slices.Delete(sh.line, i, i+1)
	}
	if sh.sessions--; sh.sessions == 0 {
		delete(p.shares, sh.ownerName)
	}
	return i >= 0
}

// begin begins the share anew if it is of an earlier pass.
func (sh *share) begin(pass int64) {
	if sh.pass != pass {
		sh.pass, sh.work = pass, 0
	}
}

func (sh *share) isUsedUp() bool { return sh.work >= passWork }

// beginTurn gives a session the share of its owner in this pass. A session without a loop, for which p is nil, has a share of its own in each turn.
func (p *Passes) beginTurn(s *Session) {
	if p == nil {
		s.ownShare.work, s.charged = turnWork, 0
		return
	}
	if s.user != s.sharesAs || s.share == &s.ownShare {
		s.sharesAs = s.user
		p.join(s)
	}
	s.share.begin(p.number)
	s.charged = s.share.work
	s.share.charge(turnWork)
}

// holdsUp reports whether a session's input has to wait for another pass: the share is used up, or other sessions have waited for longer.
func (sh *share) holdsUp(s *Session) bool {
	return sh.isUsedUp() || len(sh.line) > 0 && !s.hasTurn
}

// workNanos is about the time that one unit of work takes.
const workNanos = 10

// chargeTime charges the time that a turn has taken, as far as its work does not account for it. The prices of commands leave out what
// differs from one request to the next: keys that are not in the processor's caches, checks of permissions, long lists of small keys.
//
// before is the work of the share when that time began.
func (sh *share) chargeTime(nanos int64, before int) {
	sh.charge(max(0, int(nanos/workNanos)-(sh.work-before)))
}

// charge adds work that was done for a session of the owner, in units of [engine.Result.Work].
func (sh *share) charge(work int) { sh.work += work }

// chargeDecided charges a batch that was decided on the goroutine of the session.
func (sh *share) chargeDecided(b *engine.Batch) {
	sh.charge(store.OpWork * len(b.Ops))
	for i := range b.Results {
		sh.charge(b.Results[i].Work)
	}
}

// chargeWritten charges what was written since w had a number of words and of bytes.
func (sh *share) chargeWritten(w *resp.Writer, words, bytes int) {
	sh.charge(wordWork*(w.Words-words) + (len(w.Buf)-bytes)/sentBytes)
}

// SendsMore charges a session's owner for bytes that were sent after the kernel had not taken them at once, and reports whether more may be sent
// in this pass.
func (p *Passes) SendsMore(s *Session, sent int) bool {
	s.share.begin(p.number)
	s.share.charge(sent / sentBytes)
	return !s.share.isUsedUp()
}

// goOnLater lets a session go on with its input after others have had their turn, and a session that publishes too quickly after a pause.
func (p *Passes) goOnLater(s *Session) {
	goOn := func() {
		s.wait.happen(ForTurn)
		s.wake()
	}
	switch {
	case subscriptions{s}.outruns():
		time.AfterFunc(publisherPause, goOn)
	case p != nil:
		p.wait(s)
	case s.runLater == nil:
		goOn()
	default:
		s.runLater(goOn)
	}
}

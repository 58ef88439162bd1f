package share

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

// Share is the part of a pass that an owner has.
type Share struct {
	of       string
	pass     int64
	work     int       // done in that pass, in units of engine.Result.Work
	line     []*Member // the sessions whose input waits for the next passes
	isListed bool      // in [Passes.lines]
	sessions int
}

const (
	// PassWork is the work in a pass, 1 to 2 ms, after which the input of an owner waits.
	PassWork = command.MaxBatchWork / 4
	// turnWork is the work of a turn without its commands: some microseconds, for a read and a write.
	turnWork = 10 * store.OpWork
	// parseWork is the work of a command without its operations; each 64 bytes of the command add 1.
	parseWork = store.OpWork / 2
	// wordWork is the work of writing a word of a reply.
	wordWork = 2
	// sentBytes is the number of bytes of a reply whose work is 1: each byte is copied to the connection, to the
	// kernel, and to the client.
	sentBytes = 16
	// workNanos is about the time that one unit of work takes.
	workNanos = 10
)

// begin begins the share anew if it is of an earlier pass.
func (sh *Share) begin(pass int64) {
	if sh.pass != pass {
		sh.pass, sh.work = pass, 0
	}
}

func (sh *Share) isUsedUp() bool { return sh.work >= PassWork }

// Charge adds work that was done for the session, in units of [engine.Result.Work].
func (m *Member) Charge(work int) { m.share.work += work }

// ChargeCommand charges a command that is so many bytes long, without its operations.
func (m *Member) ChargeCommand(length int) { m.Charge(parseWork + length/64) }

// ChargeDecided charges a batch that was decided on the goroutine of the session.
func (m *Member) ChargeDecided(b *engine.Batch) {
	m.Charge(store.OpWork * len(b.Ops))
	for i := range b.Results {
		m.Charge(b.Results[i].Work)
	}
}

// ChargeWritten charges what was written since w had a number of words and of bytes.
func (m *Member) ChargeWritten(w *resp.Writer, words, bytes int) {
	m.Charge(wordWork*(w.Words-words) + (len(w.Buf)-bytes)/sentBytes)
}

// ChargeWords charges the words of lists that a session writes or leaves out.
func (m *Member) ChargeWords(words int) { m.Charge(wordWork * words) }

// ChargeTime charges the time that a turn has taken since [Member.Settle], as far as its work does not account for it.
// The prices of commands leave out what differs from one request to the next: keys that are not in the processor's
// caches, checks of permissions, long lists of small keys.
func (m *Member) ChargeTime(nanos int64) {
	m.Charge(max(0, int(nanos/workNanos)-(m.share.work-m.charged)))
}

// Settle notes that the time until now has been charged.
func (m *Member) Settle() { m.charged = m.share.work }

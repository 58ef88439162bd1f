package upstream

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/internal/loans"
)

// forward is an operation of a holder here on its loan of a key of home. Home makes the loan, so the limit holds
// whatever becomes of this server; the holder's name there begins with the name of this region.
type forward struct {
	u  *Upstream
	op engine.Op
}

// newForward returns false if the holder's name would be too long.
func (u *Upstream) newForward(op *engine.Op) (f *forward, ok bool) {
	f = &forward{u: u, op: op.Clone()}
	f.op.Who = append(append([]byte(u.opt.Holder()), '/'), op.Who...)
	return f, len(f.op.Who) <= engine.MaxHolderBytes && len(op.Who) < len(f.op.Who)-1
}

// settle implements [waiting].
func (f *forward) settle(res *engine.Result, done func()) (finished bool) {
	f.u.askLoan(f.op, func(got engine.Result) {
		if *res = got; res.Status == loans.Refused {
			res.Status = engine.NoHome
		}
		if res.Status == engine.OK {
			f.u.counts.asked.Add(1)
		} else {
			f.u.counts.failed.Add(1)
		}
		done()
	})
	return false
}

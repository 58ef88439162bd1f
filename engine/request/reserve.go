package request

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/policy"
	"github.com/stintdb/stint/engine/reservation"
)

// reserve carries out the request of a [engine.Reserve] once: a reservation of the same id and parameters is answered
// as before, and takes nothing. With readOnly it takes no tokens, and returns false if it would have.
func (r *Runner) reserve(g *group, now int64, op *engine.Op, res *engine.Result, locked, readOnly bool) (done bool) {
	g.begin(op)
	defer func() { g.reserving = nil }()
	if op.Parts[0].Verb == engine.Check && r.repeatCheck(g, now, op, res, locked) {
		return true
	}
	return r.ask(g, now, op, res, locked, readOnly)
}

// begin begins the request of a [engine.Reserve].
func (g *group) begin(op *engine.Op) {
	g.reserving, g.fingerprint, g.check.Shadow = op, g.fingerprintOf(op), false
}

// repeatCheck answers a check whose id is known from the limits that it asked then: the policy may have changed since,
// or be gone. It returns false for any other request.
func (r *Runner) repeatCheck(g *group, now int64, op *engine.Op, res *engine.Result, locked bool) (done bool) {
	if !locked && !r.reserves(op.Key) {
		return false
	}
	shards := g.lockSettlement(r, op.Key, locked)
	if !locked {
		defer r.keys.Unlock(shards)
	}
	state := foundReservation(g)
	if state == nil || state.End() <= now || state.Fingerprint() != g.fingerprint {
		return false
	}
	res.Clear()
	count := g.amounts(&engine.Op{Options: engine.Cancel})
	res.Grow(count)
	g.repeated = true
	res.Allowed, res.Binding, res.Number = true, -1, engine.Repeated
	res.Granted, res.Wait, _ = state.Parts()
	g.reportReserved(now, res)
	policy.ShowThresholds(g.parts, res)
	return true
}

// reportReserved answers with the present state of the limits of a reservation, each under its own limit.
func (g *group) reportReserved(now int64, res *engine.Result) {
	for i := range g.settlements {
		p := &g.settlements[i]
		g.parts[i] = p.asPart()
		g.report(now, i, &g.parts[i], &res.Parts[i])
		res.Parts[i].Granted = p.Charged()
	}
}

// reserves reports whether a key holds a reservation, perhaps an expired one.
func (r *Runner) reserves(key []byte) bool {
	sh, tag := r.keys.Locate(key)
	sh.Lock()
	defer sh.Unlock()
	return reservationAt(sh, sh.Find(tag, key)) != nil
}

// fingerprintOf is the fingerprint of a request's parameters as its caller stated them, a policy by its name.
func (g *group) fingerprintOf(reserve *engine.Op) uint64 {
	g.text = reservation.AppendRequest(g.text[:0], &reserve.Parts[0])
	g.text = binary.AppendUvarint(g.text, uint64(reserve.MaxWait))
	sum := sha256.Sum256(g.text)
	return binary.LittleEndian.Uint64(sum[:])
}

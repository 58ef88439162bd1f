package conn

import (
	"strconv"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/denials"
)

// noteDenial writes a denial to the log, unless the log has as many as --denial-events permits.
func (e *Env) noteDenial(r *reply, batch, out *commandBatch, now int64) {
	cfg := e.config()
	if !e.Denials.Due(now, cfg.DenialEvents) {
		return
	}
	request, res := batch.decision.Ops[r.first].Request(), &batch.decision.Results[r.first]
	d := denials.Event{Command: r.row.Title(), Tokens: request.Tokens, WaitMillis: command.Millis(res.Wait), Limit: res.Limit, Remaining: res.Remaining, RejectedBy: request.Limit.Algorithm.String()}
	key := batch.key(r.first, 0)
	if at := res.Binding; request.Verb != engine.Acquire && at >= 0 && at < len(res.Parts) {
		d.Limit, d.Remaining = res.Parts[at].Limit, res.Parts[at].Remaining
		switch request.Verb {
		case engine.AcquireAll:
			key, d.RejectedBy = batch.key(r.first, at), request.Parts[at].Limit.Algorithm.String()
		case engine.Extend:
			reserved := e.Keys.Asked(&engine.Op{Verb: engine.Extend, Key: key})
			if key = nil; at < len(reserved) { // otherwise this node does not know the reservation yet
				key, d.RejectedBy = reserved[at].Key, reserved[at].Limit.Algorithm.String()
			}
		default:
			d.Policy = string(key)
			if d.RejectedBy = d.Policy; len(res.Parts) > 1 {
				d.RejectedBy += ":" + strconv.Itoa(at)
			}
			out.policyKey = e.Keys.AppendPolicyKey(out.policyKey[:0], key, batch.key(r.first, 1), batch.fields(r.first), at)
			key = out.policyKey
		}
	}
	switch cfg.TopKeys {
	case "plain":
		d.Key = string(database.KeyOf(key))
	case "hashed":
		d.Key = e.HashKey(database.KeyOf(key))
	}
	e.Denials.Write(&d)
}

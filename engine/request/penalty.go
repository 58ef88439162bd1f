package request

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/penalty"
)

// countDenial counts a denied request in its penalties, but not in one that bans the caller now: a ban does not get
// longer by requests that it denies.
func countDenial(g *group, parts []engine.Op, res *engine.Result) {
	if isAskedAgain(parts, res) {
		return
	}
	g.made = g.made[:0] // of the others' keys, a denied request makes only those of classes
	for i := range parts {
		if !g.targets[i].place.Found && g.calls[i].IsToBeKept() {
			g.made = append(g.made, parts[i].Key)
		}
	}
	for i := range parts {
		c := &g.calls[i]
		if c.Limit.Algorithm != limits.Penalty || parts[i].AsksNothing() || c.Result.Wait > 0 ||
			c.IsNew && g.rulesFor(parts[i].Key, g.targets[i].place.Found) != nil { // no room for its key
			continue
		}
		if !g.targets[i].place.Found {
			g.made = append(g.made, parts[i].Key)
		}
		c.Result.Wait, c.Counted = penalty.Count(c.Next[:], c.State, &c.Limit, c.Now, requestWithID(g), c.Result)
	}
}

// requestWithID tells apart the requests of ids and parameters; it is 0 for one without an id.
func requestWithID(g *group) int64 {
	if g.reserving == nil {
		return 0
	}
	g.text = binary.LittleEndian.AppendUint64(append(g.text[:0], g.reserving.Key...), g.fingerprint)
	sum := sha256.Sum256(g.text)
	return int64(binary.LittleEndian.Uint64(sum[:])) | 1
}

// keepCounts keeps the denials that were counted where there is no room for all that a denied request changes: in
// penalties whose keys are known. The others count nothing, so a ban that is reported is kept.
func keepCounts(g *group, now int64, parts []engine.Op) {
	for i := range parts {
		t, c := &g.targets[i], &g.calls[i]
		switch {
		case c.Counted && c.IsNew:
			c.Result.Clear()
			c.Report()
			c.Result.Allowed = false
		case c.Counted:
			if t.findMoved(parts[i].Key) {
				t.shard.Load(c, now, &parts[i], c.Result, t.place)
			}
			t.shard.Keep(c, t.tag, t.place)
		}
	}
}

// bindBans makes a ban that has begun bind its request, if the other limits deny it for a shorter time.
func bindBans(parts []engine.Op, res *engine.Result) {
	for i := range parts {
		p := &res.Parts[i]
		if parts[i].Limit.Algorithm == limits.Penalty && p.Wait > 0 && p.Binds(&res.Parts[res.Binding]) {
			res.Binding, res.Wait = i, p.Wait
		}
	}
}

// isAskedAgain reports whether a denied request may still be granted, because it is asked again, perhaps several times:
// once its purse has fetched tokens, or while it waits for a place among the leases of a limit.
func isAskedAgain(parts []engine.Op, res *engine.Result) bool {
	if parts[res.Binding].Limit.Algorithm.IsPurse() {
		return true
	}
	for i := range parts {
		if p := &parts[i]; p.Limit.Algorithm == limits.Concurrency && p.MaxWait > 0 && res.Parts[i].Wait > 0 {
			return true
		}
	}
	return false
}

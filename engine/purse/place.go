package purse

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
)

// Place directs the parts of a request to purses whose keys a store does not own, if the request says so. It returns
// false, with an error in res, if the request does not say so or a part cannot be in a purse. A store without owns owns
// all keys.
func Place(owns func(key []byte) bool, whole *engine.Op, parts []engine.Op, res *engine.Result) (ok bool) {
	if owns == nil {
		return true
	}
	for i := range parts {
		switch p := &parts[i]; {
		case owns(database.KeyOf(p.Key)):
		case whole.Options&engine.FromPurses == 0:
			res.Status = engine.CrossSlot
			return false
		default:
			if p.Limit, ok = p.Limit.InPurse(); !ok || p.Keep != 0 || p.MaxWait != 0 {
				res.Status = engine.NotShared
				return false
			}
		}
	}
	return true
}

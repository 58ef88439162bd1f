package admin

import (
	"context"
	"net/http"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/internal/bytetext"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/command"
)

// keyView is the state of a key.
type keyView struct {
	Key       string            `json:"key"`
	Hash      string            `json:"hash"` // as --top-keys hashed shows the key
	Found     bool              `json:"found"`
	Algorithm string            `json:"algorithm,omitempty"`
	Params    map[string]string `json:"params,omitempty"`
	Limit     int64             `json:"limit"`
	Remaining int64             `json:"remaining"`
	ResetMs   int64             `json:"resetMs"`
	Bytes     int64             `json:"bytes"`
	Lent      int64             `json:"lent"`
	Loans     []loanView        `json:"loans,omitempty"`
	Windows   []windowView      `json:"windows,omitempty"` // the open window and the closed ones that are kept, newest first
	Denied    int64             `json:"denied"`            // denials in the last minutes
	DeniedAll int64             `json:"deniedAll"`         // denials of all keys
	Decided   int64             `json:"decided"`           // requests for all keys
	Own       *ownShare         `json:"own"`
	Recent    *keyRecent        `json:"recent"` // null if nothing is known
	Policies  []keyPolicy       `json:"policies"`
	UnixNano  int64             `json:"unixNano"`
}

// loanView is the tokens that are lent to a holder.
type loanView struct {
	Holder string `json:"holder"`
	Tokens int64  `json:"tokens"`
	LeftMs int64  `json:"leftMs"` // until they count as spent, 0 for never
}

func loanViews(all []engine.LoanOf) (views []loanView) {
	for _, one := range all {
		views = append(views, loanView{bytetext.Shown(string(one.Holder)), one.Tokens, command.Millis(one.Left)})
	}
	return views
}

// windowView is the usage in a window.
type windowView struct {
	StartMs  int64 `json:"startMs"` // since the Unix epoch; 0 if the window begins with its first request
	Used     int64 `json:"used"`
	Reserved int64 `json:"reserved"`
}

func windowViews(open engine.Window, closed []engine.Window) (views []windowView) {
	for _, w := range append([]engine.Window{open}, closed...) {
		views = append(views, windowView{w.Start / int64(time.Millisecond), w.Used - w.Reserved, w.Reserved})
	}
	return views
}

func (a *Admin) key(ctx context.Context, s *server.Server, r *http.Request) (any, error) {
	key := r.URL.Query().Get("key")
	name := database.Append(nil, 0, []byte(key))
	results, err := s.DecideReadOnly(ctx, []engine.Op{{Verb: engine.Look, Key: name}, {Verb: engine.Loans, Key: name}, {Verb: engine.ListWindows, Key: name}})
	if err != nil {
		return nil, err
	}
	res, v := &results[0], keyView{Key: bytetext.Shown(key), Hash: s.HashKey([]byte(key)), UnixNano: s.Now()}
	denied, total := s.DeniedOf([]byte(key))
	v.Denied, v.DeniedAll, v.Decided = denied.Count, total, a.history.decided()
	v.Own = ownShareOf(denied, v.UnixNano)
	if v.Policies, err = policiesOf(ctx, s, []byte(key)); err != nil {
		return nil, err
	}
	v.Recent = recentOf(s, []byte(key), v.Policies, denied)
	if res.Status != engine.OK {
		return v, nil
	}
	v.Found, v.Algorithm, v.Params = true, res.Held.Algorithm.String(), map[string]string{}
	for _, p := range res.Held.Params() {
		v.Params[p.Name] = p.Text
	}
	for _, p := range res.Details() {
		v.Params[p.Name] = p.Text
	}
	v.Limit, v.Remaining, v.ResetMs, v.Bytes = res.Limit, res.Remaining, command.Millis(res.Reset), res.Bytes
	if v.Lent = res.Lent; v.Lent > 0 {
		v.Loans = loanViews(results[1].LoansListed())
	}
	if res.Held.History > 0 {
		v.Windows = windowViews(results[2].Windows())
	}
	return v, nil
}

package admin

import (
	"context"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/events"
	"github.com/stintdb/stint/server/policyset"
)

// keyChange is a change by an operator: of a caller's limits in a policy, or a reset, which only needs the key.
type keyChange struct {
	Key     string `json:"key"`
	Policy  string `json:"policy"`
	ID      string `json:"id"`
	Limits  string `json:"limits"`  // "" for the policy's own limits
	Version string `json:"version"` // of the caller's limits that the operator saw
}

func readKeyChange(r *http.Request) (c keyChange, err error) {
	if err = readJSON(r, &c, "key, or policy, id, limits and version"); err != nil {
		return c, err
	}
	if strings.ContainsRune(c.Key+c.Policy+c.ID+c.Limits, utf8.RuneError) { // stands for bytes that are not UTF-8
		return c, userError{"the request must be in UTF-8: change keys with other bytes by DEL and RL.POLICY OVERRIDE"}
	}
	return c, nil
}

// carryOut executes a command with the page's rights. Its error is shown to the operator.
func carryOut(ctx context.Context, r *http.Request, s *server.Server, words ...string) error {
	_, err := s.Do(ctx, r.RemoteAddr, words)
	return err
}

// resetKey gives a key its full limit again.
func (a *Admin) resetKey(ctx context.Context, s *server.Server, r *http.Request) (any, error) {
	c, err := readKeyChange(r)
	if err != nil {
		return nil, err
	}
	if c.Key == "" || c != (keyChange{Key: c.Key}) {
		return nil, userError{"a reset needs the key, and nothing else"}
	}
	held, err := s.DecideReadOnly(ctx, []engine.Op{{Verb: engine.Look, Key: database.Append(nil, 0, []byte(c.Key))}})
	if err != nil {
		return nil, err
	}
	if held[0].Status != engine.OK {
		return nil, userError{"there is no such key: nothing was reset"}
	}
	if kind := held[0].Held.Algorithm; kind.IsValue() {
		return nil, userError{"the key holds data of the type " + kind.String() + ", not a limit: nothing was reset; DEL deletes it"}
	}
	if err := carryOut(ctx, r, s, "DEL", c.Key); err != nil {
		return nil, err
	}
	a.log.Info("a key was reset on the dashboard", "from", r.RemoteAddr)
	s.Events().Add(s.Now(), clusterstatus.Event{Kind: events.Key, Text: "Key " + shown(s, []byte(c.Key)) + " was reset", User: "default", From: server.FromPage + r.RemoteAddr})
	return struct{}{}, nil
}

// override gives a caller other limits than the policy's.
func (a *Admin) override(ctx context.Context, s *server.Server, r *http.Request) (any, error) {
	c, err := readKeyChange(r)
	if err != nil {
		return nil, err
	}
	limits := c.Limits
	if strings.TrimSpace(limits) == "" {
		limits = "NONE"
	}
	words, err := limitWords(limits, "RL.POLICY", "OVERRIDE", c.Policy, c.ID)
	if err != nil {
		return nil, err
	}
	op, err := parsed(s, words)
	if err != nil {
		return nil, err
	}
	if _, err = policyset.Update(ctx, s, r.RemoteAddr, func() ([][]string, error) {
		before, known := s.Keys().PolicyOf(c.Policy, []byte(c.ID))
		if c.Version != versionOf(&before, known) {
			return nil, userError{"somebody else has changed the limits of this caller since they were shown: load them again"}
		}
		return [][]string{words}, nil
	}); err != nil {
		return nil, err
	}
	a.log.Info("a caller's limits were set on the dashboard", "policy", c.Policy, "from", r.RemoteAddr)
	after, _ := s.Keys().PolicyOf(c.Policy, nil)
	if len(op.Parts) > 0 {
		after.Parts = op.Parts
	}
	return applied{Version: versionOf(&after, true)}, nil
}

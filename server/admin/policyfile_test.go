package admin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/policy"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/clusterstatus"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/policyset"
)

// exported returns the policies as a file has them.
func (h *host) exported() (p policyset.Present) {
	h.Helper()
	status, body := h.get(policyFilePath)
	if err := json.Unmarshal([]byte(body), &p); err != nil || status != http.StatusOK {
		h.Fatal(status, body, err)
	}
	return p
}

// demand sends the policies that the server should have.
func (h *host) demand(q policyset.Request) (status int, body string, reply policyset.Reply) {
	h.Helper()
	text, err := json.Marshal(q)
	if err != nil {
		h.Fatal(err)
	}
	if status, body = h.send(http.MethodPost, policyFilePath, string(text)); status == http.StatusOK {
		if err := json.Unmarshal([]byte(body), &reply); err != nil {
			h.Fatal(body, err)
		}
	}
	return status, body, reply
}

// summary is a change in a word each for policy, caller and kind.
func summary(changes []policyset.Shown) string {
	var all []string
	for _, c := range changes {
		kind := "change"
		switch {
		case c.Before == nil:
			kind = "add"
		case c.After == nil:
			kind = "remove"
		}
		all = append(all, strings.Join([]string{kind, c.Policy, c.ID}, " "))
	}
	return strings.Join(all, ", ")
}

func rule(limits ...string) policyset.Policy {
	return policyset.Policy{Rule: policyset.Rule{Limits: limits}}
}

// A file's policies are compared with the server's, set all together, removed only if that is asked for, and not set if
// they were changed since.
func TestPolicyFile(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	c := h.dial()
	h.do(c, "RL.POLICY SET old TB old:{} 1 1/h", "RL.POLICY SET api TB user:{} 10 10/m STRICT", "RL.POLICY OVERRIDE api acme TB user:{} 20 20/m",
		"RL.POLICY OVERRIDE api gone TB user:{} 2 2/m")
	before := h.exported()
	want := policyset.Set{"api": rule("TB user:{} 5 5/60s"), "web": rule("TB web:{} 1 1/s", "FW web-day:{} 10 @day")}
	api := want["api"]
	api.Overrides = map[string][]string{"acme": {"TB user:{} 20 20/60s"}, "new": {"TB user:{} 30 30/m"}}
	want["api"] = api
	h.do(c, "RL.CHECK api bob 7")

	status, body, shown := h.demand(policyset.Request{Policies: want, Prune: true})
	if got := summary(shown.Changes); status != http.StatusOK || got != "change api , add api new, remove api gone, add web , remove old " {
		t.Fatalf("%d %s: %s", status, got, body)
	}
	if e := shown.Changes[0].Effect; e == nil || e.Callers != 1 || e.DeniedNow != 0 || e.DeniedThen != 1 || e.Replay == nil || e.Replay.Requests != 1 || e.Replay.Denied != 0 || e.Replay.Then != 1 {
		t.Errorf("the effect on bob, who took 7 of 10: %+v, %+v", e, e.Replay)
	}
	if now := h.exported(); now.Version != before.Version || shown.Version != before.Version {
		t.Error("looking at changes made some")
	}
	h.do(c, "RL.POLICY SET late TB late:{} 1 1/h")
	if status, body, _ := h.demand(policyset.Request{Policies: want, Apply: true, Version: shown.Version}); status != http.StatusBadRequest || !strings.Contains(body, "somebody else") {
		t.Errorf("after another change: %d %s", status, body)
	}
	h.do(c, "RL.POLICY DEL late")
	if status, body, made := h.demand(policyset.Request{Policies: want, Prune: true, Apply: true, Version: shown.Version}); status != http.StatusOK || len(made.Changes) != 5 {
		t.Fatalf("%d %s", status, body)
	}
	now := h.exported()
	if got := fmt.Sprint(now.Policies); got != "map[api:{{[TB user:{} 5 5/1m] false false} map[acme:[TB user:{} 20 20/1m] new:[TB user:{} 30 30/1m]]} web:{{[TB web:{} 1 1/1s FW web-day:{} 10 @day] false false} map[]}]" {
		t.Error(got)
	}
	if _, _, made := h.demand(policyset.Request{Policies: now.Policies, Prune: true, Apply: true}); len(made.Changes) != 0 {
		t.Errorf("the same policies again are %d changes", len(made.Changes))
	}
	h.demand(policyset.Request{Policies: before.Policies, Prune: true, Apply: true})
	if back := h.exported(); back.Version != before.Version {
		t.Errorf("the policies of before, set again, are %v", back.Policies)
	}
	if _, _, made := h.demand(policyset.Request{Policies: policyset.Set{}, Apply: true}); len(made.Changes) != 0 {
		t.Error("without prune, policies that are not in the file were removed")
	}
}

// One mistake, or a policy that the server has no room for, leaves all policies as they were.
func TestPolicyFileIsSetWholly(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	c := h.dial()
	h.do(c, "RL.POLICY SET kept TB kept:{} 1 1/h")
	before := h.exported()
	for name, tc := range map[string]struct {
		set  policyset.Set
		says string
	}{
		"limit":    {policyset.Set{"a": rule("TB a:{} 1 1/s"), "b": rule("TB b:{} x 1/s")}, `policy \"b\": ERR`},
		"none":     {policyset.Set{"a": rule()}, "it has no limits"},
		"option":   {policyset.Set{"a": rule("TB a:{} 1 1/s SHADOW")}, "shadow = true"},
		"override": {policyset.Set{"a": {Rule: rule("TB a:{} 1 1/s").Rule, Overrides: map[string][]string{"x": {"NONE"}}}}, `override for \"x\"`},
		"name":     {policyset.Set{"": rule("TB a:{} 1 1/s")}, "policy"},
	} {
		if status, body, _ := h.demand(policyset.Request{Policies: tc.set, Apply: true}); status != http.StatusBadRequest || !strings.Contains(body, tc.says) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	many := policyset.Set{}
	for i := range policy.MaxPolicies {
		many[fmt.Sprint("p", i)] = rule("TB a:{} 1 1/s")
	}
	if status, body, _ := h.demand(policyset.Request{Policies: many, Apply: true}); status != http.StatusBadRequest || !strings.Contains(body, "nothing was changed") {
		t.Errorf("too many policies: %d %s", status, body)
	}
	if now := h.exported(); now.Version != before.Version {
		t.Errorf("the policies are %d now", len(now.Policies))
	}
	for body, want := range map[string]string{
		`{"policies":{},"prun":true}`: "prun", `{"policies":{"a":{"limits":["TB a 1 1/s"],"x":1}}}`: "x",
	} {
		if status, text := h.send(http.MethodPost, policyFilePath, body); status != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
}

// More changes than fit a transaction are made all the same, all or none. What is removed makes room for what is added.
func TestLargePolicyFile(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	apply := func(want policyset.Set) error {
		_, _, err := policyset.Apply(t.Context(), h.server, server.FromSettings, want, true, "")
		return err
	}
	want := policyset.Set{}
	for i := range policy.MaxPolicies {
		want[fmt.Sprint("p", i)] = rule("TB a:{} 1 1/s")
	}
	large := rule("TB a:{} 1 1/s")
	large.Overrides = map[string][]string{}
	for i := range conn.MaxQueuedCommands {
		large.Overrides[fmt.Sprint(i)] = []string{"TB a:{} 2 1/s"}
	}
	want["p0"] = large
	if err := apply(want); err != nil {
		t.Fatal(err)
	}
	delete(want, "p0")
	want["renamed"] = large
	if err := apply(want); err != nil {
		t.Fatal(err)
	}
	before := h.exported()
	if len(before.Policies) != len(want) || len(before.Policies["renamed"].Overrides) != len(large.Overrides) {
		t.Fatalf("%d policies, of which one has %d overrides", len(before.Policies), len(before.Policies["renamed"].Overrides))
	}
	want["one more"] = rule("TB a:{} 1 1/s")
	delete(want, "renamed")
	want["zz"] = large // two are added in place of one
	if err := apply(want); err == nil || !strings.HasSuffix(err.Error(), "nothing was changed") {
		t.Error(err)
	}
	if now := h.exported(); now.Version != before.Version {
		t.Error("refused changes are not taken back")
	}
}

// losingDecider answers changes of policies as a cluster does that has lost its leader: it made them, or did not.
type losingDecider struct {
	decider.Decider
	status engine.Status
	makes  bool
}

func (d *losingDecider) Decide(b *engine.Batch) (finished bool) {
	isChange := slices.ContainsFunc(b.Ops, func(op engine.Op) bool { return op.Verb == engine.SetPolicy })
	if !isChange || d.makes {
		d.Decider.Decide(b)
	}
	for i := range b.Results {
		if isChange {
			b.Results[i].Clear()
			b.Results[i].Status = d.status
		}
	}
	return true
}

// overtaken is a decider that changes another policy before it decides a transaction, up to a number of times.
type overtaken struct {
	decider.Decider
	times int
}

func (o *overtaken) Decide(b *engine.Batch) (finished bool) {
	if b.Atomic && o.times > 0 {
		o.times--
		o.Decider.Decide(&engine.Batch{Ops: []engine.Op{{Verb: engine.SetPolicy, Key: []byte("other"), Parts: []engine.Op{{Key: []byte("o:{}"),
			Limit: limits.Limit{Algorithm: limits.TokenBucket, Capacity: int64(1 + o.times), Rate: limits.Rate{Tokens: 1, Period: 1e9}}}}}}, Results: make([]engine.Result, 1)})
	}
	return o.Decider.Decide(b)
}

// A change of policies by another client, perhaps at another node, between the look at the policies and their change: the
// change is refused if it was made for the policies before, and otherwise made for those after it.
func TestPolicyFileIsOvertaken(t *testing.T) {
	for _, tc := range []struct {
		times  int
		shown  bool // the changes were shown before
		status int
		want   string
	}{
		{1, false, http.StatusOK, "add a "}, {3, false, http.StatusOK, "add a "}, {1000, false, http.StatusBadRequest, "somebody else has changed the policies"},
		{1, true, http.StatusBadRequest, "somebody else has changed the policies"}, {0, true, http.StatusOK, "add a "},
	} {
		o := &overtaken{}
		h := newHost(t, func(_ *config.Config, of *server.Options) {
			o.Decider = &decider.Local{Store: of.Keys.(*store.Store), Clock: of.Clock}
			of.Decider = o
		})
		h.serve()
		q := policyset.Request{Policies: policyset.Set{"a": rule("TB a:{} 1 1/s")}, Apply: true}
		if tc.shown {
			q.Version = h.exported().Version
		}
		o.times = tc.times
		status, body, reply := h.demand(q)
		if got := summary(reply.Changes); status != tc.status || !strings.Contains(got+body, tc.want) {
			t.Errorf("%+v: %d %s, %s", tc, status, got, body)
		}
		_, isSet := h.exported().Policies["a"]
		if _, isThere := h.exported().Policies["other"]; isSet != (status == http.StatusOK) || isThere != (tc.times > 0) {
			t.Errorf("%+v: %v", tc, h.exported().Policies)
		}
	}
}

// upgrading is a cluster one of whose members does not know transactions that expect policies.
type upgrading struct {
	*nodes
	decider.Decider
	refused int
}

func (u *upgrading) TooNew([]engine.Op) error { return errors.New("upgrade 'c'") }

func (u *upgrading) Decide(b *engine.Batch) (finished bool) {
	if !b.Ops[0].ExpectsPolicies() {
		return u.Decider.Decide(b)
	}
	u.refused++
	for i := range b.Results {
		b.Results[i].Clear()
		b.Results[i].Status = engine.TooNew
	}
	return true
}

// During an upgrade from a version that cannot expect policies, files are applied as that version does.
func TestPolicyFileDuringAnUpgrade(t *testing.T) {
	u := &upgrading{nodes: &nodes{}}
	u.status.Store(&clusterstatus.Status{State: clusterstatus.Leader})
	h := newHost(t, func(_ *config.Config, o *server.Options) {
		u.Decider = &decider.Local{Store: o.Keys.(*store.Store), Clock: o.Clock}
		o.Decider, o.Cluster = u, u
	})
	h.serve()
	status, body, reply := h.demand(policyset.Request{Policies: policyset.Set{"a": rule("TB a:{} 1 1/s")}, Apply: true})
	if got := summary(reply.Changes); status != http.StatusOK || got != "add a " || u.refused != 1 {
		t.Errorf("%d %s, %s, %d refused", status, got, body, u.refused)
	}
	if _, isSet := h.exported().Policies["a"]; !isSet {
		t.Error("the policy was not set")
	}
}

// An answer says whether the changes may have been made although nobody knows.
func TestPolicyFileOfALostLeader(t *testing.T) {
	for name, tc := range map[string]struct {
		lost losingDecider
		says string
	}{
		"uncertain, made":     {losingDecider{status: engine.Uncertain, makes: true}, "UNCERTAIN"},
		"uncertain, not made": {losingDecider{status: engine.Uncertain}, "UNCERTAIN"},
		"no leader":           {losingDecider{status: engine.NoLeader}, "nothing was changed"},
	} {
		h := newHost(t, func(_ *config.Config, o *server.Options) {
			tc.lost.Decider = &decider.Local{Store: o.Keys.(*store.Store), Clock: o.Clock}
			o.Decider = &tc.lost
		})
		h.serve()
		status, body, _ := h.demand(policyset.Request{Policies: policyset.Set{"a": rule("TB a:{} 1 1/s"), "b": rule("TB b:{} 1 1/s")}, Apply: true})
		mayBeMade := strings.Contains(body, "the changes may have been made: look at the changes again")
		if status != http.StatusBadRequest || !strings.Contains(body, tc.says) || mayBeMade != (tc.lost.status == engine.Uncertain) {
			t.Errorf("%s: %d %s", name, status, body)
		}
		if made := len(h.exported().Policies) == 2; made != tc.lost.makes {
			t.Errorf("%s: %v", name, h.exported().Policies)
		}
	}
}

// Policies and callers whose names a file cannot have are named, and not left out.
func TestPolicyFileOfOtherBytes(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	c := h.dial()
	h.do(c, "RL.POLICY SET \xff TB kept:{} 1 1/h")
	if status, body := h.get(policyFilePath); status != http.StatusBadRequest || !strings.Contains(body, "UTF-8") {
		t.Errorf("%d %s", status, body)
	}
	h.do(c, "RL.POLICY DEL \xff", "RL.POLICY SET p TB kept:{} 1 1/h", "RL.POLICY OVERRIDE p \xff TB kept:{} 1 1/h")
	if status, body := h.get(policyFilePath); status != http.StatusBadRequest || !strings.Contains(body, "UTF-8") {
		t.Errorf("%d %s", status, body)
	}
}

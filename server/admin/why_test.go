package admin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A key shows the policies to which it belongs, and which of their limits deny its caller.
func TestWhyAKeyIsDenied(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	h.do(h.dial(), "RL.POLICY SET api TB u:{} 2 1/h TB all 100 1/h TB t:{tenant} 5 1/h", "RL.POLICY OVERRIDE api vip TB u:{} 9 1/h TB all 100 1/h",
		"RL.POLICY SET watch TB all 50 1/h SHADOW",
		"RL.CHECK api a WITH tenant x", "RL.CHECK api a WITH tenant x", "RL.CHECK api a WITH tenant x", "RL.CHECK api vip WITH tenant x", "TB.ACQUIRE alone 1 1/h", "TB.ACQUIRE alone 1 1/h", "TB.ACQUIRE alone 1 1/h")
	for key, wants := range map[string][]string{
		"u:a": {`"denied":1,"deniedAll":3,`, `"policies":[{"name":"api","shadow":false,"limits":[{"spec":"TB u:{} 2 1/1h","key":"u:a","left":0,"limit":2,"denies":true,"waitMs":3`,
			`{"spec":"TB all 100 1/1h","key":"all","left":97,"limit":100,"denies":false,"waitMs":0}],"id":"a"`}, // without the tenant, which the key does not reveal
		"u:vip": {`{"spec":"TB u:{} 9 1/1h","key":"u:vip","left":8,"limit":9,"denies":false,"waitMs":0}`},
		"u:new": {`"found":false`, `{"spec":"TB u:{} 2 1/1h","key":"u:new","left":2,"limit":2,"denies":false,"waitMs":0}`},
		"all":   {`"policies":[{"name":"api","shadow":false,"limits":[{"spec":"TB all 100 1/1h"`, `{"name":"watch","shadow":true,`},
		"t:x":   {`"name":"api"`, `{"spec":"TB t:{tenant} 5 1/1h","key":"t:x","left":3,`},
		"alone": {`"denied":2,"deniedAll":3,`, `"policies":[]`},
	} {
		_, got := h.get("/api/key?key=" + key)
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("%s:\n%s\nwant …%s", key, got, want)
			}
		}
	}
	if _, got := h.get("/api/overview"); !strings.Contains(got, `"key":"u:a","count":1,"error":0,"by":"api: TB u:{} 2 1/1h"`) || !strings.Contains(got, `"key":"alone","count":2,"error":0,"by":"TB * 1 1/1h"`) {
		t.Error(got)
	}
}

// The keys of policies are only read for a reply that lists a denied key, because the page asks every second.
func TestPoliciesAreReadForDeniedKeysOnly(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	const policies = 200
	var commands []string
	for i := range policies {
		commands = append(commands, fmt.Sprintf("RL.POLICY SET p%d TB u%d:{} 1 1/h", i, i))
	}
	client := h.dial()
	h.do(client, commands...)
	request := httptest.NewRequest(http.MethodGet, "/api/overview", nil)
	allocations := func() float64 {
		return testing.AllocsPerRun(5, func() {
			if _, err := h.overview(t.Context(), h.server, request); err != nil {
				t.Error(err)
			}
		})
	}
	before := allocations()
	h.do(client, "RL.CHECK p0 a", "RL.CHECK p0 a")
	if after := allocations(); after < before+policies {
		t.Errorf("an answer takes %.0f allocations with a denied key and %.0f without one: %d policies are read for both", after, before, policies)
	}
}

// A key's share counts its requests since its first denial: granted alone, with other keys, or by a policy, and denied
// because of another key.
func TestOwnShareOfAKey(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	h.do(h.dial(), "RL.POLICY SET api TB u:{} 1 1/h",
		"TB.ACQUIRE x 2 1/h", "TB.ACQUIRE x 2 1/h", "TB.ACQUIRE x 2 1/h", "DEL x", "RL.ALL TB x 2 1/h TB y 1 1/h", "RL.ALL TB x 2 1/h TB y 1 1/h",
		"RL.CHECK api a", "RL.CHECK api a", "DEL u:a", "RL.CHECK api a", "TB.ACQUIRE x 2 1/h 1 PEEK")
	for key, want := range map[string]string{
		"x": `"own":{"part":0.3333333333333333,"error":0,"requests":3,`, "y": `"own":{"part":1,"error":0,"requests":1,`,
		"u:a": `"own":{"part":0.5,"error":0,"requests":2,`, "z": `"own":null`,
	} {
		if _, got := h.get("/api/key?key=" + key); !strings.Contains(got, want) {
			t.Errorf("%s:\n%s\nwant …%s", key, got, want)
		}
	}
	if _, got := h.get("/api/overview"); !strings.Contains(got, `"key":"x","count":1,"error":0,"by":"TB * 2 1/1h","whole":true,"own":{"part":0.33`) {
		t.Error(got)
	}
}

// The limits of the most denied keys are listed, with their denials added up: for direct requests by the first part of
// the key and the limit. A limit is still known after its key has expired.
func TestLimitsThatDenyMost(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	c := h.dial()
	h.do(c, "RL.POLICY SET p TB u:{} 1 1/h", "RL.POLICY SET q FW w:{} 1 1h", "TB.ACQUIRE other 1 1/h", "TB.ACQUIRE other 1 1/h")
	for _, id := range []string{"a", "b"} {
		h.do(c, "RL.CHECK p "+id, "RL.CHECK p "+id, "RL.CHECK p "+id)
	}
	h.do(c, "RL.CHECK q a", "RL.CHECK q a", "SET text 1", "TB.ACQUIRE ip:1 2 1/m 2", "TB.ACQUIRE ip:1 2 1/m", "TB.ACQUIRE ip:2 2 1/m 2", "TB.ACQUIRE ip:2 2 1/m", "CL.THROTTLE ip:3 0 1 60", "CL.THROTTLE ip:3 0 1 60")
	wants := []string{`"bites":{"limits":[{"limit":"p: TB u:{} 1 1/1h","denied":4,"keys":2,"since":`, `{"limit":"TB ip:* 2 1/1m","denied":2,"keys":2,"since":`,
		`{"limit":"CL ip:* 0 1 60","denied":1,"keys":1,`, `{"limit":"TB * 1 1/1h","denied":1,"keys":1,"since":`, `{"limit":"q: FW w:{} 1 1h","denied":1,"keys":1,"since":`}
	for range 2 {
		_, got := h.get("/api/overview")
		for _, want := range wants {
			if !strings.Contains(got, want) {
				t.Errorf("no %s in\n%s", want, got)
			}
		}
		h.do(c, "DEL ip:1", "DEL other")
		wants = []string{`"key":"ip:1","count":1,"error":0,"by":"TB ip:* 2 1/1m"`}
	}
	if _, got := h.get("/api/limit?limit=TB+ip:*+2+1/1m"); !strings.Contains(got, `{"entries":[{"key":"ip:`) || strings.Contains(got, `"key":"u:`) {
		t.Errorf("the keys of a limit of direct requests: %s", got)
	}
}

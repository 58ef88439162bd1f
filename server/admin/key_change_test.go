package admin

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/config"
)

// viewed is the page's view of a key.
func (h *host) viewed(key string) (v keyView) {
	h.Helper()
	if _, body := h.get("/api/key?key=" + key); json.Unmarshal([]byte(body), &v) != nil {
		h.Fatal(body)
	}
	return v
}

// A reset gives a key its full limit again. An override gives one caller other limits until it is undone, and is
// refused if somebody else was faster.
func TestChangesOfAKey(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	h.do(h.dial(), "RL.POLICY SET api TB user:{} 3 1/h", "RL.CHECK api a 3", "RL.CHECK api b 3")
	before := h.viewed("user:a")
	if before.Remaining != 0 || before.Policies[0].ID != "a" || before.Policies[0].Overridden || before.Policies[0].Own[0] != "TB user:{} 3 1/1h" {
		t.Fatalf("%+v", before)
	}
	post := func(path, body string, want int) (a applied) {
		t.Helper()
		status, text := h.send(http.MethodPost, path, body)
		if status != want {
			t.Errorf("%s %s: %d %s", path, body, status, text)
		}
		_ = json.Unmarshal([]byte(text), &a)
		return a
	}
	post("/api/key/reset", `{"key":"user:a"}`, http.StatusOK)
	if now := h.viewed("user:a"); now.Found {
		t.Errorf("after the reset %+v", now)
	}
	if other := h.viewed("user:b"); !other.Found {
		t.Error("the reset of one key resets another")
	}
	version := before.Policies[0].Version
	next := post("/api/key/override", `{"policy":"api","id":"a","limits":"TB user:{} 30 1/h","version":"`+version+`"}`, http.StatusOK)
	now := h.viewed("user:a").Policies[0]
	if !now.Overridden || now.Version != next.Version || now.Own[0] != "TB user:{} 30 1/1h" || h.viewed("user:b").Policies[0].Overridden {
		t.Errorf("after the override %+v, %+v", now, next)
	}
	post("/api/key/override", `{"policy":"api","id":"a","limits":"TB user:{} 40 1/h","version":"`+version+`"}`, http.StatusBadRequest)
	post("/api/key/override", `{"policy":"api","id":"a","limits":"nonsense","version":"`+next.Version+`"}`, http.StatusBadRequest)
	last := post("/api/key/override", `{"policy":"api","id":"a","limits":" ","version":"`+next.Version+`"}`, http.StatusOK)
	if now := h.viewed("user:a").Policies[0]; now.Overridden || now.Version != version || last.Version != version {
		t.Errorf("after its end %+v, %+v", now, last)
	}
	h.do(h.dial(), "SET data precious")
	for _, body := range []string{
		`{"key":"user:a","force":true}`, `{"key":"\ud800"}`, `[]`, `{}`, `null`, `{"key":"user:b"} {"key":"user:b"}`, `{"key":"user:b","policy":"api"}`, `{"key":"user:none"}`, `{"key":"data"}`,
	} {
		post("/api/key/reset", body, http.StatusBadRequest)
	}
}

// Changes are refused to pages of other sites and without the token. If there is no token, they need the permissions of
// a client that is not logged in.
func TestRightsToChangeKeys(t *testing.T) {
	withToken := func(cfg *config.Config, _ *server.Options) { set(t, cfg, "admin-token", "secret") }
	restricted := func(_ *config.Config, o *server.Options) {
		file := t.TempDir() + "/users.acl"
		if err := os.WriteFile(file, []byte("user default on nopass ~* &* +@all -del -rl.policy\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		users, err := acl.New(acl.Settings{File: file})
		if err != nil {
			t.Fatal(err)
		}
		o.Users = users
	}
	for _, tc := range []struct {
		name    string
		change  func(*config.Config, *server.Options)
		headers []string
		want    int
		says    string
	}{
		{"another site", nil, []string{"Origin", "http://evil.example"}, http.StatusForbidden, ""},
		{"another name", nil, []string{"Host", "evil.example"}, http.StatusForbidden, ""},
		{"no token", withToken, nil, http.StatusUnauthorized, "token"},
		{"the token", withToken, []string{"Authorization", "Bearer secret"}, http.StatusOK, ""},
		{"a default user without the rights", restricted, nil, http.StatusBadRequest, "NOPERM"},
	} {
		h := newHost(t, tc.change)
		h.serve()
		if _, err := h.server.Do(t.Context(), "test", []string{"RL.POLICY", "SET", "api", "TB", "user:{}", "3", "1/h"}); err != nil && tc.says != "NOPERM" {
			t.Fatal(err)
		}
		if _, err := h.server.Do(t.Context(), "test", []string{"TB.ACQUIRE", "user:a", "3", "1/h"}); err != nil {
			t.Fatal(err)
		}
		known, is := h.server.Keys().PolicyOf("api", []byte("a"))
		bodies := map[string]string{
			"/api/key/reset":    `{"key":"user:a"}`,
			"/api/key/override": `{"policy":"api","id":"a","limits":"TB user:{} 9 1/h","version":"` + versionOf(&known, is) + `"}`,
			"/api/policy":       `{"name":"other","limits":"TB a 1 1/s"}`,
		}
		for path, body := range bodies {
			if status, text := h.send(http.MethodPost, path, body, tc.headers...); status != tc.want || !strings.Contains(text, tc.says) {
				t.Errorf("%s, %s: %d %s, want %d", tc.name, path, status, text, tc.want)
			}
		}
	}
}

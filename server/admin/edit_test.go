package admin

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/servertest"
)

// A word of the grammar in a field of the editor is a name or part of a limit, or is refused. It is never an option,
// because options have boxes.
func TestDraftsHoldNoOptions(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	c := h.dial()
	for _, word := range servertest.GrammarWords() {
		for _, d := range []draft{{Name: word, Limits: "TB draft:{} 1 1/h"}, {Name: "draft", Limits: "TB draft:{} 1 1/h " + word}, {Name: "draft", Limits: word}} {
			h.do(c, "RL.POLICY DEL draft")
			body, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			status, text := h.send(http.MethodPost, "/api/policy", string(body))
			if status != http.StatusOK && status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", body, status, text)
			}
			p, known := h.server.Keys().Policy(d.Name)
			if known != (status == http.StatusOK) || p.Shadow || p.Strict || known && len(p.Parts) != 1 {
				t.Errorf("%s: %d %s, %+v", body, status, text, p)
			}
		}
	}
}

// A request with other fields than a draft's, or with invalid text, is refused, and the error names the field.
func TestStrangeDrafts(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	for body, want := range map[string]string{
		`{"name":"p","limits":"TB a 1 1/s","shadw":true}`:  "shadw",
		`{"name":"\ud800","limits":"TB a 1 1/s"}`:          "surrogate",
		"{\"name\":\"p\xff\",\"limits\":\"TB a 1 1/s\"}":   "UTF-8",
		`{"name":"p","limits":"TB a 1 1/s SHADOW"}`:        "boxes",
		`{"name":"p","limits":"TB a 1 1/s SHADOW STRICT"}`: "boxes",
		`{"name":"p","remove":true,"limits":"TB a 1 1/s"}`: "leave out limits",
		`{"name":"p","remove":true,"shadow":true}`:         "leave out limits",
		`{"name":"p","remove":true,"strict":true}`:         "leave out limits",
	} {
		if status, text := h.send(http.MethodPost, "/api/policy", body); status != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", body, status, text)
		}
	}
}

// A header of 16 KiB is read, and one byte more is too long.
func TestLongestHeader(t *testing.T) {
	t.Parallel() // it waits
	h := newHost(t, nil)
	for length, status := range map[int]string{maxHeaderBytes: "200", maxHeaderBytes + 1: "431"} {
		c, err := net.Dial("tcp", h.Address())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		const request = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nX: %s\r\n\r\n"
		fmt.Fprintf(c, request, strings.Repeat("x", length-len(request)+len("%s")))
		if got, err := io.ReadAll(c); !strings.HasPrefix(string(got), "HTTP/1.1 "+status) {
			t.Errorf("%d bytes: %.40q, %v, want %s", length, got, err, status)
		}
	}
}

// Parameters that a path does not have are refused, and the error names them.
func TestUnknownParameters(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	for _, step := range []struct{ method, target, want string }{
		{http.MethodGet, "/api/overview?since2=1", "since2"}, {http.MethodGet, "/api/overview?since=1&since=2", "since"}, {http.MethodGet, "/api/policies?name=p", "name"},
		{http.MethodGet, "/api/key?key=a&k=b", `\"k\"`}, {http.MethodPost, "/api/policy?shadow=true", "shadow"}, {http.MethodPost, "/api/policy/preview?x", "x"},
		{http.MethodPost, "/api/backup?stale=maybe", "yes or no"}, {http.MethodPost, "/api/backup?stail=yes", "stail"},
	} {
		if status, text := h.send(step.method, step.target, ""); status != http.StatusBadRequest || !strings.Contains(text, step.want) {
			t.Errorf("%s: %d %s", step.target, status, text)
		}
	}
	for _, target := range []string{"/api/overview?since=0", "/api/overview", "/api/key?key=a", "/api/policies"} {
		if status, text := h.send(http.MethodGet, target, ""); status != http.StatusOK {
			t.Errorf("%s: %d %s", target, status, text)
		}
	}
}

// Two people change one policy: the second does not undo the first unseen. A draft without a version replaces any.
func TestTwoEditors(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	h.do(h.dial(), "RL.POLICY SET p TB u:{} 1 1/h")
	preview := func(name string) string {
		var e effect
		_, text := h.send(http.MethodPost, "/api/policy/preview", `{"name":"`+name+`","limits":"TB u:{} 2 1/h"}`)
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.Version == "" {
			t.Fatal(text, err)
		}
		return e.Version
	}
	set := func(name, limits, version string) (status int, next string) {
		status, text := h.send(http.MethodPost, "/api/policy", `{"name":"`+name+`","limits":"`+limits+`","version":"`+version+`"}`)
		var a applied
		if status == http.StatusOK && json.Unmarshal([]byte(text), &a) != nil || status != http.StatusOK && !strings.Contains(text, "somebody else has changed this policy") {
			t.Fatal(text)
		}
		return status, a.Version
	}
	first, second := preview("p"), preview("p")
	status, next := set("p", "TB u:{} 3 1/h", first)
	if status != http.StatusOK {
		t.Error("the first change is refused")
	}
	if status, _ := set("p", "TB u:{} 2 1/h", second); status != http.StatusBadRequest {
		t.Error("the second change undoes the first")
	}
	if status, _ := set("p", "TB u:{} 1 1/h", next); status != http.StatusOK {
		t.Error("the first cannot undo his own change")
	}
	var undo struct{ Before json.RawMessage }
	_, text := h.send(http.MethodPost, "/api/policy", `{"name":"p","limits":"TB u:{} 9 1/h TB all 9 1/h","shadow":true}`)
	_ = json.Unmarshal([]byte(text), &undo)
	if status, text := h.send(http.MethodPost, "/api/policy", string(undo.Before)); status != http.StatusOK || !strings.Contains(h.do(h.dial(), "RL.POLICY GET p"), "TB u:{} 1 1/1h") {
		t.Errorf("undone: %d %s", status, text)
	}
	if status, _ := h.send(http.MethodPost, "/api/policy", string(undo.Before)); status != http.StatusBadRequest {
		t.Error("a change is undone twice")
	}
	_, text = h.send(http.MethodPost, "/api/policy", `{"name":"new","limits":"TB u:{} 9 1/h"}`)
	_ = json.Unmarshal([]byte(text), &undo)
	if status, text := h.send(http.MethodPost, "/api/policy", string(undo.Before)); status != http.StatusOK || len(h.server.Keys().PolicyNames()) != 1 {
		t.Errorf("a new policy, undone: %d %s", status, text)
	}
	_, text = h.send(http.MethodPost, "/api/policy", `{"name":"new","limits":"TB u:{} 9 1/h"}`)
	_ = json.Unmarshal([]byte(text), &undo)
	h.do(h.dial(), "RL.POLICY OVERRIDE new vip TB u:{} 100 1/h")
	if status, text := h.send(http.MethodPost, "/api/policy", string(undo.Before)); status != http.StatusBadRequest || !strings.Contains(text, "RL.POLICY DEL new") || len(h.server.Keys().PolicyNames()) != 2 {
		t.Errorf("a new policy with an override, undone: %d %s", status, text)
	}
	if status, _ := set("p", "TB u:{} 5 1/h", ""); status != http.StatusOK {
		t.Error("a change without a version is refused")
	}
	fresh := preview("q")
	h.do(h.dial(), "RL.POLICY SET q TB w:{} 1 1/h")
	if status, _ := set("q", "TB u:{} 2 1/h", fresh); status != http.StatusBadRequest {
		t.Error("a new policy replaces one that came meanwhile")
	}
}

// A preview names the limits that a change takes away.
func TestRemovedLimits(t *testing.T) {
	h := newHost(t, nil)
	h.serve()
	h.do(h.dial(), "RL.POLICY SET p TB u:{} 1 1/h TB all 10 1/h")
	if _, text := h.send(http.MethodPost, "/api/policy/preview", `{"name":"p","limits":"TB u:{} 2 1/h"}`); !strings.Contains(text, `"removed":["TB all 10 1/1h"]`) {
		t.Error(text)
	}
	if _, text := h.send(http.MethodPost, "/api/policy/preview", `{"name":"p","limits":"FW u:{} 2 1h TB all 1 1/s"}`); !strings.Contains(text, `"removed":[]`) {
		t.Error(text)
	}
}

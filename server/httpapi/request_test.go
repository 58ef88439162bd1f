package httpapi

import (
	"bytes"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/gateway"
)

// A request that is used again has nothing of the one before, and no more room than most need.
func TestResetRequests(t *testing.T) {
	secret := []byte(`{"policy":"api","id":"secret"}`)
	list, _ := decode(secret)
	full := func(room int) *request {
		return &request{Request: new(http.Request), w: counted{&discard{}, 429}, caller: gateway.Caller{User: new(acl.User), Address: "a", Timeout: 1},
			body: append(make([]byte, 0, room), secret...), json: list, bad: tooLarge, fields: fields{&list, "with.", 3, errors.New("wrong")}}
	}
	for of, i := reflect.ValueOf(full(64)).Elem(), 0; i < of.NumField(); i++ {
		if of.Field(i).IsZero() {
			t.Errorf("the test fills no %s", of.Type().Field(i).Name)
		}
	}
	for _, room := range []int{64, maxKeptBody, maxKeptBody + 1, maxBodyBytes} {
		r := full(room)
		r.reset()
		if kept := cap(r.body); kept > maxKeptBody || bytes.Contains(r.body[:kept], []byte("secret")) {
			t.Errorf("of a body with room for %d, %q is left in room for %d", room, r.body[:kept], kept)
		}
		r.body = nil
		if !reflect.ValueOf(r).Elem().IsZero() {
			t.Errorf("%+v is left", r)
		}
	}
}

// Requests of two users at a time, some of them wrong or denied, each get their own answer.
func TestRequestsTakeTurns(t *testing.T) {
	h := serve(t)
	h.run("ACL SETUSER ann on >ann resetkeys ~ann:* +@all", "ACL SETUSER bob on >bob resetkeys ~bob:* +@all",
		"RL.POLICY SET ann TB ann:{} 1000000 1/s", "RL.POLICY SET bob TB bob:{} 1000000 1/s")
	var users sync.WaitGroup
	for _, name := range []string{"ann", "bob"} {
		other := map[string]string{"ann": "bob", "bob": "ann"}[name]
		users.Go(func() {
			for range 100 {
				for _, c := range []struct {
					body, want string
					status     int
				}{
					{`{"policy":"` + name + `","id":"1"}`, `{"allowed":true`, http.StatusOK},
					{`{"policy":"` + other + `","id":"1"}`, "NOPERM", http.StatusForbidden},
					{`{"policy":"` + name + `","id":"1","` + name + `":"` + strings.Repeat("x", 5000) + `"}`, name + ": is not a field", http.StatusBadRequest},
					{`{"policy":"` + name + `"`, "ends too early", http.StatusBadRequest},
				} {
					a := h.post("/v1/check", c.body, "Authorization: Bearer "+name+":"+name)
					if a.status != c.status || !strings.Contains(a.body, c.want) {
						t.Errorf("%s sent %.60s and got %d %s", name, c.body, a.status, a.body)
						return
					}
				}
			}
		})
	}
	users.Wait()
}

// A request whose handler panics is not used again.
func TestPanicKeepsNoRequest(t *testing.T) {
	hr, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/check", nil)
	if err != nil {
		t.Fatal(err)
	}
	known, before := new(request), requests.New
	defer func() { requests.New = before }()
	requests.New = func() any { return known }
	for requests.Get() != any(known) { // until the pool is empty
	}
	func() {
		defer func() { _ = recover() }()
		new(Service).ServeHTTP(&discard{header: http.Header{}}, hr) // it has no connection
		t.Error("it did not panic")
	}()
	requests.New = before
	for range 10 {
		if requests.Get() == any(known) {
			t.Fatal("the request is used again")
		}
	}
}

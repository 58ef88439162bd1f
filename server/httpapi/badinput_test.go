package httpapi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/server/config"
)

// Bodies that are no request, each with an error that names the part.
func TestBadBodies(t *testing.T) {
	t.Parallel() // it waits
	h := serve(t)
	h.run("RL.POLICY SET api TB u:{} 10 1/h")
	limits := strings.Repeat(`{"algorithm":"TB","key":"k","capacity":1,"rate":1},`, 10_000)
	for _, step := range []struct {
		body   string
		status int
		want   string
	}{
		{`[]`, 400, "must be an object"},
		{`{`, 400, "ends too early"},
		{`{"policy":"api"`, 400, "ends too early"},
		{`nonsense`, 400, "invalid character"},
		{`{"policy":"api","id":"1"} {}`, 400, "something follows"},
		{"{\"policy\":\"api\",\"id\":\"\xff\"}", 400, "not UTF-8"},
		{`{"policy":"api","id":"\ud800"}`, 400, "half of a surrogate pair"},
		{`{"policy":"api","id":"a\udc00"}`, 400, "half of a surrogate pair"},
		{`{"policy":"api","id":"\ud800\ud800"}`, 400, "half of a surrogate pair"},
		{`{"policy":"api","id":"\ud83d\ude00\ud83d"}`, 400, "half of a surrogate pair"},
		{`{"policy":"api","id":"\ufffd\udfff"}`, 400, "half of a surrogate pair"},
		{`{"policy":"api","id":"1","\udfff":1}`, 400, "half of a surrogate pair"},
		{`{"policy":"api","id":"1","peek":true,"id2":"\ud83d\ude00\ufffd\\ud800"}`, 400, "id2: is not a field"},
		{`{"policy":"api","policy":"b","id":"1"}`, 400, `\"policy\" is there twice`},
		{`{"policy":"api"}`, 400, "id: is missing"},
		{`{"policy":"api","id":null}`, 400, "id: is missing"},
		{`{"policy":"api","id":["1"]}`, 400, "id: must be a string or a number"},
		{`{"policy":"api","id":"1","tokns":2}`, 400, "tokns: is not a field of this request"},
		{`{"policy":"api","id":"1","tokens":1.5}`, 400, "tokens: must be an integer"},
		{`{"policy":"api","id":"1","tokens":-1}`, 400, "tokens: must be an integer"},
		{`{"policy":"api","id":"1","tokens":1e300}`, 400, "tokens: must be an integer"},
		{`{"policy":"api","id":"1","peek":1}`, 400, "peek: must be true or false"},
		{`{"policy":"api","id":"1","with":[]}`, 400, "with: must be an object"},
		{`{"policy":"api","id":"1","with":{"a":{}}}`, 400, "with.a: must be a string"},
		{`{"policy":"api","limits":[]}`, 400, "either policy and id, or limits"},
		{`{}`, 400, "either policy and id, or limits"},
		{`{"limits":[]}`, 400, "limits: give at least one"},
		{`{"limits":[1]}`, 400, "limits[0]: must be an object"},
		{`{"limits":[{"algorithm":"XX","key":"k"}]}`, 400, `limits[0].algorithm: must be one of CL TB`},
		{`{"limits":[{"algorithm":"TB","key":"k","capacity":1}]}`, 400, "limits[0].rate: is missing"},
		{`{"limits":[{"algorithm":"TB","key":"k","capacity":"ten","rate":1}]}`, 400, "capacity: must be an integer"},
		{`{"limits":[{"algorithm":"TB","key":"k","capacity":1,"rate":1,"window":2}]}`, 400, "limits[0].window: is not a field"},
		{`{"limits":[` + strings.TrimSuffix(limits, ",") + `]}`, 400, "limits: at most 64, got 10000"},
		{`{"policy":"api","id":"` + strings.Repeat("x", 1<<20-100) + `"}`, 400, ""},
		{`{"policy":"api","id":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "at most 1048576 bytes"},
		{`{"with":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, 400, "nested more than 4 deep"},
		{`{"policy":"nosuch","id":"1"}`, 404, "no such policy"},
		{`{"policy":"a\r\nX: y","id":"\r\nSet-Cookie: a=b"}`, 404, "no such policy"},
	} {
		a := h.post("/v1/check", step.body)
		if a.status != step.status || !strings.Contains(a.body, step.want) {
			t.Errorf("%.100s: %d %s", step.body, a.status, a.body)
		}
		if f, _ := h.read(a).(map[string]any); f["status"] != float64(step.status) || f["title"] == "" {
			t.Errorf("%.100s: no problem details: %s", step.body, a.body)
		}
	}
}

// Names in fields cannot begin another line.
func TestFieldInjection(t *testing.T) {
	h := serve(t)
	if _, err := h.Do(t.Context(), "test", []string{"RL.POLICY", "SET", "a\"\r\nSet-Cookie: x", "TB", "u:{}", "1", "1/h"}); err != nil {
		t.Fatal(err)
	}
	a := h.post("/v1/check", `{"policy":"a\"\r\nSet-Cookie: x","id":"\r\nSet-Cookie: y"}`)
	if a.status != 200 || a.header.Get("RateLimit") != `"a\"%0D%0ASet-Cookie: x";r=0` || a.header.Get("Set-Cookie") != "" {
		t.Errorf("%d %v", a.status, a.header)
	}
}

// Requests that are not for this server, or not in its language.
func TestBadRequests(t *testing.T) {
	h := serve(t, func(c *config.Config) {
		c.HTTPHosts = []string{"stint"}
		c.HTTPOrigins = []string{"https://app.example.com"}
	})
	h.run("RL.POLICY SET api TB u:{} 100 1/h", "ACL SETUSER alice on >secret ~* +@all")
	const body = `{"policy":"api","id":"1"}`
	for _, step := range []struct {
		method, path, body string
		headers            []string
		status             int
	}{
		{http.MethodPost, "/v1/check", body, nil, 200},
		{http.MethodPost, "/v1/check", body, []string{"Host: stint:8080"}, 200},
		{http.MethodPost, "/v1/check", body, []string{"Host: rebound.example.com"}, 403},
		{http.MethodPost, "/v1/check", body, []string{"Host: rebound.example.com", "Authorization: Bearer alice:secret"}, 200},
		{http.MethodPost, "/v1/check", body, []string{"Origin: https://evil.example.com"}, 403},
		{http.MethodPost, "/v1/check", body, []string{"Origin: null"}, 403},
		{http.MethodPost, "/v1/check", body, []string{"Origin: https://app.example.com"}, 200},
		{http.MethodGet, "/v1/auth?policy=api&id=1", "", []string{"Origin: https://evil.example.com"}, 403},
		{http.MethodPost, "/v1/check", body, []string{"Content-Type: text/plain"}, 415},
		{http.MethodPost, "/v1/check", body, []string{"Content-Type: application/x-www-form-urlencoded"}, 415},
		{http.MethodPost, "/v1/check", body, []string{"Content-Type: application/json; charset=utf-8"}, 200},
		{http.MethodGet, "/v1/check", "", nil, 405},
		{http.MethodPut, "/v1/check", body, nil, 405},
		{http.MethodDelete, "/healthz", "", nil, 405},
		{http.MethodGet, "/v1/../healthz", "", nil, 404},
		{http.MethodGet, "//healthz", "", nil, 404},
		{http.MethodGet, "/v1/check/", "", nil, 404},
		{http.MethodGet, "/v1/authx", "", nil, 404},
		{http.MethodGet, "/metrics", "", nil, 404},
		{http.MethodOptions, "/v1/check", "", []string{"Origin: https://app.example.com", "Access-Control-Request-Method: POST"}, 204},
		{http.MethodOptions, "/v1/check", "", []string{"Origin: https://evil.example.com", "Access-Control-Request-Method: POST"}, 405},
	} {
		a := h.send(step.method, step.path, step.body, step.headers...)
		if a.status != step.status {
			t.Errorf("%s %s %v: %d %s", step.method, step.path, step.headers, a.status, a.body)
		}
		if allows := a.header.Get("Access-Control-Allow-Origin"); allows != "" && allows != "https://app.example.com" {
			t.Errorf("%v: allows %s", step.headers, allows)
		}
	}
}

// raw sends bytes and returns all that comes back until the connection closes.
func (h *host) raw(send func(c net.Conn)) string {
	c, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		h.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(giveUp))
	send(c)
	text, err := io.ReadAll(c)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		h.Fatal("the connection stays open")
	}
	return string(text)
}

// Requests that do not end, or are too long, end with their connection.
func TestEndlessRequests(t *testing.T) {
	t.Parallel() // it waits
	hasty, patient := serve(t, func(c *config.Config) { c.CommandTimeout = 200 * time.Millisecond }), serve(t)
	const head = "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for name, step := range map[string]struct {
		send func(c net.Conn)
		want string
	}{
		"a body that stops":  {func(c net.Conn) { fmt.Fprint(c, head+"Content-Length: 100\r\n\r\n{") }, " 408 "},
		"a chunk that stops": {func(c net.Conn) { fmt.Fprint(c, head+"Transfer-Encoding: chunked\r\n\r\nff\r\n{") }, " 408 "},
		"a head that stops":  {func(c net.Conn) { fmt.Fprint(c, "POST /v1/check HTTP/1.1\r\nHost: loc") }, ""},
		"nothing":            {func(net.Conn) {}, ""},
		"a body without end": {func(c net.Conn) {
			w := bufio.NewWriter(c)
			fmt.Fprint(w, head+"Transfer-Encoding: chunked\r\n\r\n")
			for range 40 {
				if _, err := fmt.Fprintf(w, "10000\r\n%s\r\n", strings.Repeat(" ", 1<<16)); err != nil {
					break
				}
			}
			_ = w.Flush()
		}, " 413 "},
		"a head without end": {func(c net.Conn) {
			fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n"+strings.Repeat("A: b\r\n", 1<<16))
		}, " 431 "},
		"two lengths": {func(c net.Conn) {
			fmt.Fprint(c, head+"Content-Length: 1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n")
		}, " 400 "},
		"the Redis protocol": {func(c net.Conn) { fmt.Fprint(c, "*1\r\n$4\r\nPING\r\n\r\n") }, " 400 "},
		"HTTP/2":             {func(c net.Conn) { fmt.Fprint(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := patient // which answers what is too long, however slowly it comes
			if strings.HasSuffix(name, " stops") || name == "nothing" {
				h = hasty
			}
			h.TB = t
			got, _, _ := strings.Cut(h.raw(step.send), "\r\n")
			if !strings.Contains(got, step.want) {
				t.Errorf("got %q", got)
			}
		})
	}
}

// A user without a password is nobody's but this machine's; the bounds of connections are those of all.
func TestConnections(t *testing.T) {
	h := serve(t, func(c *config.Config) { c.MaxClients = 1 })
	first, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	fmt.Fprint(first, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
	if line, err := bufio.NewReader(first).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Fatal(line, err)
	}
	if got := h.raw(func(c net.Conn) { fmt.Fprint(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") }); got != "" {
		t.Errorf("a second connection is answered %q", got)
	}
}

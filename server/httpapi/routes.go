package httpapi

import (
	_ "embed"
	"net/http"
	"strings"

	"github.com/stintdb/stint/server/gateway"
)

// request is one that was let in.
type request struct {
	*http.Request
	w      http.ResponseWriter
	caller gateway.Caller
	body   []byte // of a POST
}

// route is the handler of a path, and the method it takes.
type route struct {
	method string // "" for any
	open   func(s *Service, w http.ResponseWriter)
	answer func(s *Service, r *request) // with a user; instead of open
}

const authPath = "/v1/auth"

// routes are the paths, as openapi.json describes them. Below authPath everything belongs to it, see [Service.auth].
var routes = map[string]route{
	"/healthz":      {method: http.MethodGet, open: (*Service).healthy},
	"/readyz":       {method: http.MethodGet, open: (*Service).ready},
	"/openapi.json": {method: http.MethodGet, open: (*Service).describe},
	authPath:        {answer: (*Service).auth},
	"/":             {method: http.MethodPost, answer: (*Service).one},
	"/pipeline":     {method: http.MethodPost, answer: (*Service).pipeline},
	"/multi-exec":   {method: http.MethodPost, answer: (*Service).multiExec},
	"/v1/check":     {method: http.MethodPost, answer: (*Service).check},
	"/v1/settle":    {method: http.MethodPost, answer: (*Service).settle},
	"/v1/cancel":    {method: http.MethodPost, answer: (*Service).cancel},
}

// find returns the route of a path. Paths are taken as they are: none is cleaned, so none is redirected.
func find(path string) (route, bool) {
	if strings.HasPrefix(path, authPath+"/") {
		path = authPath
	}
	found, is := routes[path]
	return found, is
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, hr *http.Request) {
	h := w.Header()
	h["X-Content-Type-Options"], h["Cache-Control"] = noSniff, noStore
	to, found := find(hr.URL.Path)
	switch {
	case !found:
		fail(w, http.StatusNotFound, "there is nothing at this path; GET /openapi.json lists the paths")
	case s.allowed.isPreflight(hr):
		s.allowed.preflight(w, hr)
	case to.method != "" && to.method != hr.Method && !(to.method == http.MethodGet && hr.Method == http.MethodHead):
		h.Set("Allow", to.method)
		fail(w, http.StatusMethodNotAllowed, "this path takes "+to.method+", got "+hr.Method)
	case to.open != nil:
		to.open(s, w)
	default:
		s.admit(w, hr, to)
	}
}

var noSniff, noStore = []string{"nosniff"}, []string{"no-store"}

// admit answers a request if it comes from a user, and from no web page that is not allowed.
func (s *Service) admit(w http.ResponseWriter, hr *http.Request, to route) {
	c := connOf(hr)
	user, byPassword, err := login(c, hr)
	if err != nil {
		failLogin(w, err)
		return
	}
	if err := s.allowed.check(w, hr, byPassword); err != nil {
		fail(w, http.StatusForbidden, err.Error())
		return
	}
	r := &request{Request: hr, w: w, caller: gateway.Caller{User: user, Address: c.Address(), Timeout: s.gateway.Config().CommandTimeout}}
	if to.method == http.MethodPost {
		if err := r.readBody(); err != nil {
			err.send(w)
			return
		}
		if !c.Hold(r.body) {
			fail(w, http.StatusServiceUnavailable, "the buffers of all clients are full, and this one has more than its share: send less at a time, or raise --client-memory")
			return
		}
		defer c.Release(r.body)
	}
	to.answer(s, r)
}

func (s *Service) healthy(w http.ResponseWriter) { sendText(w, http.StatusOK, "ok\n") }

func (s *Service) ready(w http.ResponseWriter) {
	if err := s.gateway.Ready(); err != nil {
		sendText(w, http.StatusServiceUnavailable, err.Error()+"\n")
		return
	}
	sendText(w, http.StatusOK, "ready\n")
}

//go:embed openapi.json
var description []byte

func (s *Service) describe(w http.ResponseWriter) { send(w, http.StatusOK, typeJSON, description) }

func sendText(w http.ResponseWriter, status int, text string) {
	send(w, status, "text/plain; charset=utf-8", []byte(text))
}

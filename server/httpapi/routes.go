package httpapi

import (
	_ "embed"
	"net/http"
	"strings"

	"github.com/stintdb/stint/server/gateway"
)

// route is the handler of a path, and the method it takes.
type route struct {
	method string // "" for any
	open   func(s *Service, w http.ResponseWriter)
	answer func(s *Service, r *request) // with a user; instead of open
	refuse refusal                      // of requests that are not let in
}

// refusal answers a request that is not carried out.
type refusal func(w http.ResponseWriter, status int, detail string)

// routes are the paths, as openapi.json describes them. Below authPath everything belongs to it, see [Service.auth].
var routes = map[string]route{
	"/healthz":      {method: http.MethodGet, open: (*Service).healthy},
	"/readyz":       {method: http.MethodGet, open: (*Service).ready},
	"/openapi.json": {method: http.MethodGet, open: (*Service).describe},
	authPath:        {answer: (*Service).auth, refuse: fail},
	"/":             {method: http.MethodPost, answer: (*Service).one, refuse: failUpstash},
	"/pipeline":     {method: http.MethodPost, answer: func(s *Service, r *request) { s.several(r, false) }, refuse: failUpstash},
	"/multi-exec":   {method: http.MethodPost, answer: func(s *Service, r *request) { s.several(r, true) }, refuse: failUpstash},
	"/v1/check":     {method: http.MethodPost, answer: (*Service).check, refuse: fail},
	"/v1/extend":    {method: http.MethodPost, answer: (*Service).extend, refuse: fail},
	"/v1/atmost":    {method: http.MethodPost, answer: (*Service).atMost, refuse: fail},
	"/v1/settle":    {method: http.MethodPost, answer: (*Service).settle, refuse: fail},
	"/v1/cancel":    {method: http.MethodPost, answer: (*Service).cancel, refuse: fail},
	"/v1/usage":     {method: http.MethodPost, answer: (*Service).usage, refuse: fail},
}

// routeOf returns the path of the route that a path belongs to. Paths are taken as they are: none is cleaned, so none
// is redirected.
func routeOf(path string) string {
	if strings.HasPrefix(path, authPath+"/") {
		return authPath
	}
	return path
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(under http.ResponseWriter, hr *http.Request) {
	r, answered := requests.Get().(*request), false
	r.Request, r.w.ResponseWriter = hr, under
	w := &r.w
	h := w.Header()
	h["X-Content-Type-Options"], h["Cache-Control"] = noSniff, noStore
	path := routeOf(hr.URL.Path)
	to, found := routes[path]
	defer func() {
		s.count(path, w.status)
		if answered { // without a panic: nobody else knows it now
			r.reset()
			requests.Put(r)
		}
	}()
	switch {
	case !found:
		fail(w, http.StatusNotFound, "there is nothing at this path; GET /openapi.json lists the paths")
	case s.allowed.isPreflight(hr):
		s.allowed.preflight(w, hr)
	case to.method != "" && to.method != hr.Method && !(to.method == http.MethodGet && hr.Method == http.MethodHead):
		h.Set("Allow", to.method)
		fail(w, http.StatusMethodNotAllowed, "this path takes "+to.method+", got "+hr.Method)
	case to.open != nil:
		if bad := checkTarget(path, hr); bad != nil {
			bad.send(w)
			break
		}
		to.open(s, w)
	default:
		s.admit(r, to, path)
	}
	answered = true
}

// admit answers a request if it comes from a user, and from no web page that is not allowed.
func (s *Service) admit(r *request, to route, path string) {
	w, hr := &r.w, r.Request
	c := connOf(hr)
	user, byPassword, err := login(c, hr)
	if err != nil {
		status, detail := failedLogin(err)
		w.Header().Set("WWW-Authenticate", "Bearer")
		to.refuse(w, status, detail)
		return
	}
	if err := s.allowed.check(w, hr, byPassword); err != nil {
		to.refuse(w, http.StatusForbidden, err.Error())
		return
	}
	if bad := checkTarget(path, hr); bad != nil {
		to.refuse(w, bad.status, bad.detail)
		return
	}
	r.caller = gateway.Caller{User: user, Address: c.Address(), Timeout: s.gateway.Config().CommandTimeout}
	if to.method == http.MethodPost {
		if err := r.readBody(); err != nil {
			to.refuse(w, err.status, err.detail)
			return
		}
		if !c.Hold(r.body) {
			to.refuse(w, http.StatusServiceUnavailable, "the buffers of all clients are full, and this connection has more than its share: send less at a time, or raise --client-memory")
			return
		}
		defer c.Release(r.body)
		s.gateway.InTurn(r.caller, func() { r.json, r.bad = decode(r.body) })
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

package httpapi

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// allowed are the names of this server, and the web sites whose pages may send requests.
type allowed struct {
	hosts   []string
	origins []string
	exposed string // fields that they may read
}

var (
	errOrigin = errors.New("the request comes from a web page whose origin is not allowed: name it in --http-origins, or remove the header Origin in the proxy")
	errHost   = errors.New("the Host is not an address, localhost or one of --http-hosts: add it there, or send a password")
)

// check keeps web pages away. They can have a browser send requests, but do not know a password: so a request with one
// may name any host, as by the name of another's name server that points here.
func (a *allowed) check(w http.ResponseWriter, r *http.Request, byPassword bool) error {
	if origin := r.Header["Origin"]; len(origin) > 0 {
		switch {
		case len(origin) == 1 && slices.Contains(a.origins, origin[0]):
			h := w.Header()
			h.Set("Access-Control-Allow-Origin", origin[0])
			h.Set("Access-Control-Expose-Headers", a.exposed)
			h.Add("Vary", "Origin")
		case !byPassword:
			return errOrigin
		}
	}
	if !byPassword && !a.knows(r.Host) {
		return errHost
	}
	return nil
}

// knows reports whether a Host names this server.
func (a *allowed) knows(hostPort string) bool {
	if host, port, _ := strings.Cut(hostPort, ":"); host == "localhost" && !strings.ContainsAny(port, ":[]") { // without the errors below
		return true
	}
	if address, err := netip.ParseAddrPort(hostPort); err == nil { // as most clients send it
		return address.Addr().Zone() == ""
	}
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = strings.Trim(hostPort, "[]")
	}
	is := func(name string) bool { return strings.EqualFold(host, name) }
	return is("localhost") || net.ParseIP(host) != nil || slices.ContainsFunc(a.hosts, is)
}

// isPreflight reports whether a browser asks if a page of an allowed origin may send a request.
func (a *allowed) isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" && slices.Contains(a.origins, r.Header.Get("Origin"))
}

// preflight allows it.
func (a *allowed) preflight(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	h.Set("Access-Control-Allow-Methods", "GET, POST")
	h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type, Upstash-Encoding")
	h.Set("Access-Control-Max-Age", "600")
	h.Add("Vary", "Origin")
	w.WriteHeader(http.StatusNoContent)
}

package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/resp"
)

const tokenBytes = sha256.Size

// hashOf parses the hash of a token in a setting: # and hexadecimal digits, "" for none.
func hashOf(setting string) *[tokenBytes]byte {
	if setting == "" {
		return nil
	}
	var hash [tokenBytes]byte
	_, _ = hex.Decode(hash[:], []byte(setting[1:])) // the setting permits nothing else
	return &hash
}

// contentPolicy lets the page run its own script, and load nothing from elsewhere.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// policyFilePath is where the policies of a file are compared and set.
const policyFilePath = "/api/policies/file"

// bodyBytes bounds the body of a request for a path.
func bodyBytes(path string) int64 {
	if path == policyFilePath {
		return maxFileBytes
	}
	return maxBodyBytes
}

// guard keeps pages of other sites from reading or changing anything here. It refuses unknown host names, because
// anybody's name server can point a name at this address.
func (a *Admin) guard(next http.Handler) http.Handler {
	checked := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		connOf(r).touch()
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if a.token == nil && !a.knows(r.Host) {
			fail(w, http.StatusForbidden, "use this server's address, or localhost, as the host")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, bodyBytes(r.URL.Path))
		checked.ServeHTTP(w, r)
	})
}

// knows reports whether a Host header is an address, localhost, or the name in --admin.
func (a *Admin) knows(hostPort string) bool {
	host, _, err := net.SplitHostPort(hostPort)
	if err != nil {
		host = strings.Trim(hostPort, "[]")
	}
	return net.ParseIP(host) != nil || strings.EqualFold(host, "localhost") || strings.EqualFold(host, a.host)
}

// secured asks for the token, if there is one. Guesses are limited and logged like guesses of passwords.
func (a *Admin) secured(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if a.token == nil {
			next(w, r)
			return
		}
		s := a.about.Load()
		if s == nil {
			fail(w, http.StatusServiceUnavailable, starting)
			return
		}
		scheme, token, given := strings.Cut(r.Header.Get("Authorization"), " ")
		if !given || !strings.EqualFold(scheme, "Bearer") {
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, http.StatusUnauthorized, "send the token: Authorization: Bearer TOKEN")
			return
		}
		conn := connOf(r)
		right := func() bool { return a.isToken(token) }
		if conn.authenticated.Load() && right() {
			next(w, r)
			return
		}
		switch err := s.TryLogin(r.Context(), r.RemoteAddr, right); {
		case errors.Is(err, server.ErrWrongLogin):
			a.logWrongToken(r)
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, http.StatusUnauthorized, "the token is wrong")
		case err != nil:
			fail(w, http.StatusTooManyRequests, resp.WithoutCode(err))
		default:
			conn.authenticate()
			next(w, r)
		}
	}
}

// isToken compares hashes in constant time, so that timing reveals neither the token nor its length.
func (a *Admin) isToken(given string) bool {
	hash := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(hash[:], a.token[:]) == 1
}

func (a *Admin) logWrongToken(r *http.Request) {
	if times := a.wrongTokens.Note(r.RemoteAddr, server.ErrWrongLogin, time.Now()); times > 0 {
		a.log.Warn("a wrong token was sent to --admin", "from", r.RemoteAddr, "times", times)
	}
}

// withPassword refuses requests if clients need a password and there is no token: without a password, nobody may learn
// here what clients may not.
func (a *Admin) withPassword(next http.HandlerFunc) http.HandlerFunc {
	return a.secured(func(w http.ResponseWriter, r *http.Request) {
		s := a.about.Load()
		switch {
		case s == nil:
			fail(w, http.StatusServiceUnavailable, starting)
		case a.token == nil && s.NeedsPassword():
			fail(w, http.StatusForbidden, "clients of this server need a password, so the dashboard and stint top need a token: start the server with --admin-token")
		default:
			next(w, r)
		}
	})
}

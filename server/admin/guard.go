package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"strings"
)

const tokenBytes = sha256.Size

// hashOf reads the hash of a token as settings have it: # and hexadecimal digits, "" for none.
func hashOf(setting string) *[tokenBytes]byte {
	if setting == "" {
		return nil
	}
	var hash [tokenBytes]byte
	_, _ = hex.Decode(hash[:], []byte(setting[1:])) // the setting lets nothing else through
	return &hash
}

// contentPolicy lets the page run its own script and load nothing from elsewhere.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard keeps other sites' pages away: those a browser shows must not be able to read or change anything here, and a name
// that somebody else's name server points here is not one of ours.
func (a *Admin) guard(next http.Handler) http.Handler {
	checked := http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store")
		if a.token == nil && !a.knows(r.Host) {
			fail(w, http.StatusForbidden, "ask for this server by its address, or as localhost")
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBodyBytes)
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

// secured asks for the token.
func (a *Admin) secured(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !a.permits(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, http.StatusUnauthorized, "send the token: Authorization: Bearer TOKEN")
			return
		}
		next(w, r)
	}
}

// permits compares hashes in constant time, so that neither the token nor its length can be found out by timing.
func (a *Admin) permits(r *http.Request) bool {
	if a.token == nil {
		return true
	}
	given, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	hash := sha256.Sum256([]byte(given))
	return is && subtle.ConstantTimeCompare(hash[:], a.token[:]) == 1
}

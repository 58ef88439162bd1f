package httplimit

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/stintdb/stint/clients/go/clientip"
)

// A Key identifies the client of a request. Requests with the same key share a limit. Requests with the key "" share
// one too, so that leaving out the header or cookie of the key does not escape the limit: for a policy they are the
// caller "anonymous".
type Key func(*http.Request) string

// Everybody is one key for all requests.
func Everybody(*http.Request) string { return "all" }

// ByIP identifies clients by their addresses. Behind proxies, the resolver must list them as trusted, and they must set
// X-Forwarded-For; for another field, see [ByIPFrom].
func ByIP(resolver clientip.Resolver) Key { return ByIPFrom("X-Forwarded-For", resolver) }

// ByIPFrom is ByIP with another field that the proxies set, such as X-Real-IP.
func ByIPFrom(field string, resolver clientip.Resolver) Key {
	return func(r *http.Request) string {
		if client := resolver.Resolve(r.RemoteAddr, r.Header.Values(field)); client.IsValid() {
			return client.String()
		}
		return ""
	}
}

// ByHeader identifies clients by the value of a field, such as an API key. The value is hashed, so that no secret
// reaches the server or its logs. Every new value gets a new limit, so check the value before: a client that can send
// any value escapes its limit.
func ByHeader(field string) Key {
	return func(r *http.Request) string {
		value := r.Header.Get(field)
		if value == "" {
			return ""
		}
		sum := sha256.Sum256([]byte(value))
		return base64.RawURLEncoding.EncodeToString(sum[:18])
	}
}

// ByUser identifies clients by a function of the application, for example by the user's id in the request's context.
func ByUser(user func(*http.Request) string) Key { return user }

// ByRoute is the pattern of http.ServeMux that the request matched, or else its method and path. The middleware must be
// inside the mux to see the pattern.
func ByRoute(r *http.Request) string {
	if r.Pattern != "" {
		return r.Pattern
	}
	return r.Method + " " + r.URL.Path
}

// FirstOf takes the first key that is not "": an API key if there is one, else the address.
func FirstOf(keys ...Key) Key {
	return func(r *http.Request) string {
		for i, key := range keys {
			if value := key(r); value != "" {
				return itoa(int64(i)) + ":" + value // so that values of different keys cannot collide
			}
		}
		return ""
	}
}

// Join makes a key of several: each user on each route.
func Join(keys ...Key) Key {
	return func(r *http.Request) string {
		values := make([]string, len(keys))
		for i, key := range keys {
			values[i] = strings.ReplaceAll(key(r), "|", "||")
		}
		return strings.Join(values, " | ")
	}
}

// SkipPaths is for [Skip]: it exempts the given paths and those below them.
func SkipPaths(paths ...string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return slices.ContainsFunc(paths, func(path string) bool {
			return r.URL.Path == path || strings.HasPrefix(r.URL.Path, strings.TrimSuffix(path, "/")+"/")
		})
	}
}

// SkipMethods is for [Skip]: it exempts requests with these methods, such as OPTIONS.
func SkipMethods(methods ...string) func(*http.Request) bool {
	return func(r *http.Request) bool { return slices.Contains(methods, r.Method) }
}

// SkipNetworks is for [Skip]: it exempts clients whose address is in one of the networks.
func SkipNetworks(resolver clientip.Resolver, networks ...netip.Prefix) func(*http.Request) bool {
	resolver.IPv4Bits, resolver.IPv6Bits = 32, 128
	return func(r *http.Request) bool {
		client := resolver.Resolve(r.RemoteAddr, r.Header.Values("X-Forwarded-For"))
		return client.IsValid() && slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(client.Addr()) })
	}
}

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

// A Key tells whose request it is. Requests with the same key share a limit; those for which it returns "" share one
// among themselves, so that nobody escapes by leaving out what the key is made of.
type Key func(*http.Request) string

// Everybody is one key for all requests.
func Everybody(*http.Request) string { return "all" }

// ByIP tells clients apart by their addresses. Behind proxies, the resolver has to name them, and they have to set
// X-Forwarded-For; for another field, see [ByIPFrom].
func ByIP(resolver clientip.Resolver) Key { return ByIPFrom("X-Forwarded-For", resolver) }

// ByIPFrom is ByIP with another field that one's proxies set, such as X-Real-IP.
func ByIPFrom(field string, resolver clientip.Resolver) Key {
	return func(r *http.Request) string {
		if client := resolver.Resolve(r.RemoteAddr, r.Header.Values(field)); client.IsValid() {
			return client.String()
		}
		return ""
	}
}

// ByHeader tells clients apart by the value of a field, such as an API key. The value is hashed, so that no secret goes
// to the server or into its logs. Whoever may send any value gets a fresh limit with each: use it for values that have
// been checked before.
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

// ByUser tells clients apart by what the application knows about them, such as the user's id in the request's context.
func ByUser(user func(*http.Request) string) Key { return user }

// ByRoute is the pattern of http.ServeMux that the request matched, or else its method and path. It has to be inside of
// the mux to see the pattern.
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
				return itoa(int64(i)) + ":" + value // so that nobody can pass for somebody by another key
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

// SkipPaths is for [Skip]: it leaves alone the paths given and those below them.
func SkipPaths(paths ...string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return slices.ContainsFunc(paths, func(path string) bool {
			return r.URL.Path == path || strings.HasPrefix(r.URL.Path, strings.TrimSuffix(path, "/")+"/")
		})
	}
}

// SkipMethods is for [Skip]: it leaves alone requests with these methods, such as OPTIONS.
func SkipMethods(methods ...string) func(*http.Request) bool {
	return func(r *http.Request) bool { return slices.Contains(methods, r.Method) }
}

// SkipNetworks is for [Skip]: it leaves alone clients whose address lies in one of the networks.
func SkipNetworks(resolver clientip.Resolver, networks ...netip.Prefix) func(*http.Request) bool {
	resolver.IPv4Bits, resolver.IPv6Bits = 32, 128
	return func(r *http.Request) bool {
		client := resolver.Resolve(r.RemoteAddr, r.Header.Values("X-Forwarded-For"))
		return client.IsValid() && slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(client.Addr()) })
	}
}

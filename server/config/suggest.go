package config

import (
	"strings"

	"github.com/stintdb/stint/internal/spelling"
)

// renamed are names in redis.conf and of other servers whose setting has another name in Stint.
var renamed = map[string]string{
	"port": "listen", "bind": "listen", "unixsocket": "listen", "loglevel": "log-level", "tls-port": "tls-listen",
	"metrics": "admin", "join": "cluster-peers", "node-name": "node-id",
}

// Suggest returns the setting that was probably meant by an unknown name, or "".
func Suggest(name string) string {
	name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	if s, found := Lookup(name); found {
		return s.Name
	}
	if s, found := renamed[name]; found {
		return s
	}
	var names []string
	for i := range Settings {
		names = append(names, Settings[i].Name)
		if Settings[i].Redis != "" {
			names = append(names, Settings[i].Redis)
		}
	}
	first, _, _ := strings.Cut(name, "-")
	for _, nearest := range []string{nearestByWords(name, names), renamed[first], spelling.Nearest(name, names)} {
		if s, found := Lookup(nearest); found {
			return s.Name
		}
	}
	return ""
}

// nearestByWords returns the candidate that has most words in common with a name, and nearly half of them at least, or
// "". It prefers the same first word: for admin-listen it returns admin, although admin-token takes fewer changes.
func nearestByWords(name string, names []string) (best string) {
	words, most := strings.Split(name, "-"), 0.0
	for _, candidate := range names {
		if plain(candidate) == plain(name) {
			return candidate
		}
		others := strings.Split(candidate, "-")
		common, alike := 0, 0.0
		for _, w := range words {
			if near := spelling.Nearest(w, others); near != "" {
				common++
				alike += float64(min(len(w), len(near))) / float64(max(len(w), len(near)))
			}
		}
		share := alike / float64(len(words)+len(others)-common)
		if share < 0.4 {
			continue
		}
		if words[0] == others[0] {
			share += 0.1
		}
		if share > most {
			best, most = candidate, share
		}
	}
	return best
}

// plain returns a name without dashes, which people add or forget.
func plain(name string) string { return strings.ReplaceAll(name, "-", "") }

package config

import (
	"strings"

	"github.com/stintdb/stint/internal/spelling"
)

// renamed are names of redis.conf whose setting has another name in Stint.
var renamed = map[string]string{"port": "listen", "bind": "listen", "unixsocket": "listen", "loglevel": "log-level"}

// Suggest returns the name of the setting someone probably meant by an unknown name, or "".
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
	if s, found := Lookup(spelling.Nearest(name, names)); found {
		return s.Name
	}
	return ""
}

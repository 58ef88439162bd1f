package config

import (
	"slices"
	"strings"
)

// Settings is the table of all settings, in the order of the handbook. Rows of one group are together.
var Settings = slices.Concat(serverSettings, httpSettings, grpcSettings, xdsSettings, clusterSettings, upstreamSettings, adminSettings, logSettings)

// Lookup finds a setting by its own name or by Redis's name, in lower or upper case.
func Lookup(name string) (*Setting, bool) {
	for i := range Settings {
		s := &Settings[i]
		if strings.EqualFold(s.Name, name) || s.Redis != "" && strings.EqualFold(s.Redis, name) {
			return s, true
		}
	}
	return nil, false
}

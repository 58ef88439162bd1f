package config

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Rewrite writes a configuration file with every setting of c that differs from the default, for CONFIG REWRITE.
// Reading it back gives c again, File apart. Comments and order of the file it replaces are not kept.
func Rewrite(c *Config) []byte {
	defaults := Default()
	var out bytes.Buffer
	out.WriteString("# Written by CONFIG REWRITE: every setting that differs from its default.\n")
	for i := range Settings {
		s := &Settings[i]
		if !s.InFile() || s.Get(c) == s.Get(&defaults) {
			continue
		}
		fmt.Fprintf(&out, "%s = %s\n", s.Name, s.toml(s.Get(c)))
	}
	return out.Bytes()
}

// toml writes a value's text form as TOML. Values hold no control characters, so Go's quoting escapes nothing that
// TOML would escape differently.
func (s *Setting) toml(text string) string {
	switch {
	case s.IsList():
		items := strings.Split(text, ",")
		for i := range items {
			items[i] = strconv.Quote(items[i])
		}
		return "[" + strings.Join(items, ", ") + "]"
	case s.Type() == "int":
		return text
	}
	return strconv.Quote(text)
}

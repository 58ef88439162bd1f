package config

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Rewrite makes the configuration file of CONFIG REWRITE, with every setting of c that differs from the default.
// Reading it gives c again, except for File. It does not keep comments and the order of an earlier file.
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

// toml writes a value's text form in TOML. Go's quoting works, because values have no control characters.
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

package config

import (
	"strconv"
	"strings"
)

// Setting is one row of the table [Settings].
type Setting struct {
	Name        string // its name as a flag, in the configuration file and for CONFIG
	Redis       string // the name Redis has for it, which CONFIG understands as well; "" if Redis has none
	Placeholder string // the placeholder of its value in the help text
	Help        string // sentences for the help text and the handbook
	Group       string // the heading it stands under
	Mutable     bool   // CONFIG SET may change it while the server runs

	value func(*Config) Value
}

// Lookup finds a setting by its own name or by the one Redis has for it, in any case.
func Lookup(name string) (*Setting, bool) {
	for i := range Settings {
		s := &Settings[i]
		if strings.EqualFold(s.Name, name) || s.Redis != "" && strings.EqualFold(s.Redis, name) {
			return s, true
		}
	}
	return nil, false
}

// Get returns the setting's value in c in the form Set reads, such as 64kb or 1.5m. Set(Get) changes nothing.
func (s *Setting) Get(c *Config) string { return s.value(c).String() }

// RedisValue returns the setting's value in c the way Redis clients expect it under the Redis name: sizes in bytes and
// durations in whole seconds, without a unit. Anything else is as from Get.
func (s *Setting) RedisValue(c *Config) string {
	if v, ok := s.value(c).(interface{ plain() string }); ok {
		return v.plain()
	}
	return s.Get(c)
}

// Set reads text into the setting's field of c. On an error, an [*InvalidError], c is unchanged. Whether the new value
// agrees with the other settings is for [Config.Check] to say, once all of them are in.
func (s *Setting) Set(c *Config, text string) error {
	if err := s.value(c).Set(text); err != nil {
		if s.Type() == typeSecret && text != "" { // nearly right, it would tell the secret to readers of the log
			text = strconv.Itoa(len(text)) + " other bytes"
		}
		return &InvalidError{Name: s.Name, Text: text, Want: err.Error()}
	}
	return nil
}

// Allowed says which values the setting takes, such as "an integer between 1 and 1024".
func (s *Setting) Allowed() string { return s.value(&Config{}).Allowed() }

// Type names the kind of the setting's value: int, size, duration, word, path, secret, address or addresses.
func (s *Setting) Type() string { return s.value(&Config{}).Type() }

// IsList reports whether the setting takes several values. Its text form separates them with commas.
func (s *Setting) IsList() bool {
	return s.Type() == typeAddresses || s.Type() == typeQuotas || s.Type() == typePatterns
}

// InFile reports whether the setting may stand in a configuration file: all but the name of that file.
func (s *Setting) InFile() bool { return s.Name != "config" }

// EnvPrefix begins the name of every environment variable that is a setting.
const EnvPrefix = "STINT_"

// Env returns the name of the environment variable for the setting, such as STINT_MAX_CLIENTS.
func (s *Setting) Env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

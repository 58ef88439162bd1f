package config

import (
	"strconv"
	"strings"
)

// The groups of the help text and of docs/configuration.md.
const (
	groupNetwork  = "Network"
	groupHTTP     = "HTTP"
	groupGRPC     = "Envoy"
	groupState    = "State and memory"
	groupSecurity = "Access control"
	groupClients  = "Limits on clients"
	groupCluster  = "Cluster"
	groupUpstream = "Home cluster"
	groupLog      = "Logging"

	groupOperators = "For operators"
)

// Setting is one row of the table [Settings].
type Setting struct {
	Name        string // its name as a flag, in the configuration file and for CONFIG
	Redis       string // Redis's name for it, which CONFIG understands as well; "" if there is none
	Placeholder string // the placeholder of its value in the help text
	Help        string // sentences for the help text and the handbook
	Group       string // its heading
	Mutable     bool   // CONFIG SET may change it while the server runs

	value func(*Config) Value
}

// Get returns the setting's value in c in the form Set reads, such as 64kb or 1.5m. Set(Get) changes nothing.
func (s *Setting) Get(c *Config) string { return s.value(c).String() }

// RedisValue returns the setting's value in c as Redis clients expect it: sizes in bytes and durations in whole
// seconds, without units. Other values are the same as from Get.
func (s *Setting) RedisValue(c *Config) string {
	if v, ok := s.value(c).(interface{ plain() string }); ok {
		return v.plain()
	}
	return s.Get(c)
}

// Set parses text into the setting's field of c. It returns an [*InvalidError], and leaves c unchanged, if the value is
// not allowed. [Config.Check] says whether all settings together are valid.
func (s *Setting) Set(c *Config, text string) error {
	if err := s.value(c).Set(text); err != nil {
		if s.Type() == typeSecret && text != "" { // the log must not show a secret with a typing error
			text = strconv.Itoa(len(text)) + " other bytes"
		}
		return &InvalidError{Name: s.Name, Text: text, Want: err.Error()}
	}
	return nil
}

// Allowed says which values the setting takes, such as "an integer between 1 and 1024".
func (s *Setting) Allowed() string { return s.value(&Config{}).Allowed() }

// Type names the kind of the setting's value, such as int, size, duration, word, path, secret, address or addresses.
func (s *Setting) Type() string { return s.value(&Config{}).Type() }

// IsList reports whether the setting takes several values, which its text form separates with commas.
func (s *Setting) IsList() bool {
	return s.Type() == typeAddresses || s.Type() == typeQuotas || s.Type() == typePatterns
}

// InFile reports whether the setting is allowed in a configuration file: all are, except the name of that file.
func (s *Setting) InFile() bool { return s.Name != "config" }

// EnvPrefix begins the names of all environment variables for settings.
const EnvPrefix = "STINT_"

// Env returns the name of the environment variable for the setting, such as STINT_MAX_CLIENTS.
func (s *Setting) Env() string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(s.Name, "-", "_"))
}

// firstGiven returns the first setting that differs from its default, nil if none does.
func firstGiven(c *Config, of []Setting) *Setting {
	defaults := Default()
	for i := range of {
		if s := &of[i]; s.Get(c) != s.Get(&defaults) {
			return s
		}
	}
	return nil
}

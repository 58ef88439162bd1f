package config

import (
	"reflect"
	"regexp"
	"testing"
)

var (
	nameForm = regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`)
	helpForm = regexp.MustCompile(`^[A-Z].*\.$`)
)

func TestTableIsSound(t *testing.T) {
	names, closed, group := map[string]bool{}, map[string]bool{}, ""
	for _, s := range Settings {
		for _, name := range []string{s.Name, s.Redis} {
			if name != "" && names[name] {
				t.Errorf("%s names two settings", name)
			}
			names[name] = true
		}
		if !nameForm.MatchString(s.Name) || !helpForm.MatchString(s.Help) || s.Placeholder == "" {
			t.Errorf("%s: a name, a help text or a placeholder is not in form", s.Name)
		}
		if s.Group != group {
			if closed[s.Group] {
				t.Errorf("%s stands apart from its group %s", s.Name, s.Group)
			}
			closed[group], group = true, s.Group
		}
	}
}

// Every field of Config is filled by exactly one row, and no two rows share one.
func TestEveryFieldHasARow(t *testing.T) {
	filled := map[uintptr]string{}
	var c Config
	for _, s := range Settings {
		field := reflect.ValueOf(s.value(&c)).Elem().FieldByName("field").Pointer()
		if other := filled[field]; other != "" {
			t.Errorf("%s and %s fill the same field", other, s.Name)
		}
		filled[field] = s.Name
	}
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		if filled[v.Field(i).Addr().Pointer()] == "" {
			t.Errorf("no setting fills %s", v.Type().Field(i).Name)
		}
	}
}

func TestSuggest(t *testing.T) {
	for name, want := range map[string]string{
		"max-client": "max-clients", "max_clients": "max-clients", "maxclients": "max-clients", "MAXMEM": "max-memory",
		"port": "listen", "bind": "listen", "time-out": "idle-timeout", "lisen": "listen", "LOG_LEVL": "log-level",
		"admin-listen": "admin", "admin-tokn": "admin-token", "data-dir": "dir", "peers": "cluster-peers", "metrics-port": "admin", "tls-port": "tls-listen", "cluster-group": "groups",
		"zzz": "", "": "", "x": "", "requirepas": "requirepass", "aof": "",
	} {
		if got := Suggest(name); got != want {
			t.Errorf("%q suggests %q, want %q", name, got, want)
		}
	}
}

package config

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// Settings of the home cluster that contradict each other are refused with what to do.
func TestUpstreamConflicts(t *testing.T) {
	valid := func() Config {
		c := Default()
		c.Upstream, c.UpstreamKeys = []string{"a:1"}, []string{"*"}
		return c
	}
	c := valid()
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(*Config){
		"--upstream-down is about the cluster of --upstream": func(c *Config) {
			s, _ := Lookup("upstream-down")
			*c = Default()
			if err := s.Set(c, "deny"); err != nil {
				t.Error(err)
			}
		},
		"name their patterns with --upstream-keys": func(c *Config) { c.UpstreamKeys = nil },
		"--upstream-user (east) needs a password":  func(c *Config) { c.UpstreamUser = "east" },
		"--upstream-tls-ca is for --upstream-tls":  func(c *Config) { c.UpstreamTLSCA = "ca.pem" },
		"--policies (p.toml) removes all":          func(c *Config) { c.UpstreamPolicies, c.Policies = []string{"*"}, "p.toml" },
		"--upstream-loan-time (9s) leaves no time": func(c *Config) { c.UpstreamLoanTime = 9 * time.Second },
		"lower --databases to at most 255":         func(c *Config) { c.UpstreamDown, c.Databases = "10%", 256 },
	} {
		c := valid()
		change(&c)
		if err := c.Check(); !errors.Is(err, ErrConflict) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	c.UpstreamUser, c.UpstreamPasswordFile, c.UpstreamTLS, c.UpstreamTLSCA = "east", "secret", true, "ca.pem"
	c.UpstreamLoanTime, c.UpstreamDown, c.Databases = 10*time.Second, "10%", 255
	if err := c.Check(); err != nil {
		t.Error(err)
	}
}

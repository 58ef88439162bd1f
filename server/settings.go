package server

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/wholefile"
)

// redisConstants are settings Redis clients and tools ask for that have only one value here.
var redisConstants = [][2]string{
	{"appendonly", "no"}, {"databases", "1"}, {"replica-read-only", "yes"}, {"save", ""}, {"slave-read-only", "yes"},
}

// ConfigGet implements [command.Server].
func (s *Server) ConfigGet(patterns []string) (pairs []string) {
	cfg := s.Config()
	offer := func(name, value string) {
		for _, p := range patterns {
			if command.Match(strings.ToLower(p), name) {
				pairs = append(pairs, name, value)
				return
			}
		}
	}
	for i := range config.Settings {
		row := &config.Settings[i]
		offer(row.Name, row.Get(cfg))
		if row.Redis != "" {
			offer(row.Redis, row.RedisValue(cfg))
		}
	}
	for _, c := range redisConstants {
		offer(c[0], c[1])
	}
	return pairs
}

// ConfigSet implements [command.Server].
func (s *Server) ConfigSet(pairs []string) error {
	s.setMu.Lock()
	defer s.setMu.Unlock()
	next := *s.Config()
	for i := 0; i < len(pairs); i += 2 {
		row, known := config.Lookup(pairs[i])
		if !known {
			return fmt.Errorf("ERR Unknown option or number of arguments for CONFIG SET - '%s'", pairs[i])
		}
		if !row.Mutable {
			return fmt.Errorf("ERR CONFIG SET failed (possibly related to argument '%s') - can't be changed while the server runs; start it with --%s", pairs[i], row.Name)
		}
		if err := row.Set(&next, pairs[i+1]); err != nil {
			return fmt.Errorf("ERR CONFIG SET failed (possibly related to argument '%s') - %w", pairs[i], err)
		}
	}
	if err := next.Check(); err != nil {
		return fmt.Errorf("ERR CONFIG SET failed - %w", err)
	}
	s.keys.SetRules(rulesOf(&next))
	if next.RequirePass != s.Config().RequirePass {
		s.users.SetDefaultPassword((*acl.Hash)(next.Password()))
	}
	s.users.Log.SetLength(next.ACLLogLength)
	before := s.settings.Swap(&next)
	if !slices.Equal(before.PrefixQuotas, next.PrefixQuotas) {
		s.setQuotas(nil)
	}
	s.keepBudget()
	if s.changed != nil {
		s.changed(&next)
	}
	return nil
}

// ConfigRewrite implements [command.Server].
func (s *Server) ConfigRewrite() error {
	s.setMu.Lock()
	defer s.setMu.Unlock()
	cfg := s.Config()
	if cfg.File == "" {
		return errors.New("ERR The server is running without a config file")
	}
	if err := wholefile.Write(cfg.File, config.Rewrite(cfg)); err != nil {
		return fmt.Errorf("ERR Rewriting config file: %w", err)
	}
	return nil
}

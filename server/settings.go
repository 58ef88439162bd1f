package server

import (
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stintdb/stint/engine/admission"
	"github.com/stintdb/stint/engine/glob"
	"github.com/stintdb/stint/internal/atomicfile"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/memlimit"
)

// redisConstants are settings that clients and tools of Redis ask for, and that have only one value here.
var redisConstants = [][2]string{
	{"appendonly", "no"}, {"maxmemory-policy", "noeviction"}, {"notify-keyspace-events", ""}, {"replica-read-only", "yes"}, {"save", ""},
	{"slave-read-only", "yes"}, {"tcp-keepalive", "300"},
}

// ConfigGet implements [command.Server].
func (s *Server) ConfigGet(patterns []string) (pairs []string) {
	cfg := s.Config()
	offer := func(name, value string) {
		for _, p := range patterns {
			if glob.Match(strings.ToLower(p), name) {
				pairs = append(pairs, name, value)
				return
			}
		}
	}
	for i := range config.Settings {
		row := &config.Settings[i]
		value := row.Get(cfg)
		if row.Name == "requirepass" { // which ACL SETUSER may have changed
			value = s.env.Users.DefaultPassword(value)
		}
		offer(row.Name, value)
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
	pairs, err := withoutConstants(pairs)
	if err != nil {
		return err
	}
	rows, err := settingsToChange(pairs)
	if err != nil {
		return err
	}
	next, setsPassword := *s.Config(), false
	for i, row := range rows {
		setsPassword = setsPassword || row.Name == "requirepass"
		if err := row.Set(&next, pairs[2*i+1]); err != nil {
			return command.ErrSettingValue.With(pairs[2*i], err)
		}
	}
	if err := next.Check(); err != nil {
		return command.ErrSettingsConflict.With(err)
	}
	if s.clientLimit > 0 && next.MaxClients > s.clientLimit && next.MaxClients != s.Config().MaxClients {
		return command.ErrFewDescriptors.With(s.clientLimit)
	}
	s.keys.SetRules(memlimit.RulesOf(&next))
	if setsPassword {
		s.env.Users.SetDefaultPassword((*acl.Hash)(next.Password()))
	}
	s.env.Users.Log.SetLength(next.ACLLogLength)
	before := s.settings.Swap(&next)
	if !slices.Equal(before.PrefixQuotas, next.PrefixQuotas) {
		s.quotas.setOfSettings()
	}
	s.memory.ForgetPeak()
	if s.changed != nil {
		s.changed(&next)
	}
	return nil
}

// withoutConstants leaves out settings that are given the only value they have.
func withoutConstants(pairs []string) (rest []string, err error) {
	for pair := range slices.Chunk(pairs, 2) {
		i := slices.IndexFunc(redisConstants, func(c [2]string) bool { return strings.EqualFold(c[0], pair[0]) })
		switch {
		case i < 0:
			rest = append(rest, pair...)
		case pair[1] != redisConstants[i][1]:
			return nil, command.ErrSettingConstant.With(pair[0], redisConstants[i][1], pair[1])
		}
	}
	return rest, nil
}

// settingsToChange returns the settings of names and values in turn. A setting may occur once, also under Redis's name
// for it.
func settingsToChange(pairs []string) (rows []*config.Setting, err error) {
	for i := 0; i < len(pairs); i += 2 {
		row, known := config.Lookup(pairs[i])
		if !known {
			return nil, command.ErrUnknownSetting.With(pairs[i])
		}
		if !row.Mutable {
			return nil, command.ErrFixedSetting.With(pairs[i], row.Name)
		}
		if slices.Contains(rows, row) {
			return nil, command.ErrSettingTwice.With(pairs[i])
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// ConfigRewrite implements [command.Server].
func (s *Server) ConfigRewrite() error {
	s.setMu.Lock()
	defer s.setMu.Unlock()
	cfg := s.Config()
	if cfg.File == "" {
		return command.ErrNoConfigFile
	}
	if err := atomicfile.Write(cfg.File, config.Rewrite(cfg)); err != nil {
		return command.ErrConfigRewrite.With(err)
	}
	return nil
}

// quotas has a store count keys by the quotas of settings and users.
type quotas struct {
	mu       sync.Mutex
	keys     localstore.Store
	settings *atomic.Pointer[config.Config]
	ofUsers  []acl.KeyQuota
}

// setOfUsers counts keys anew if the quotas of users have changed. Counting all keys again is dear.
func (q *quotas) setOfUsers(ofUsers []acl.KeyQuota) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(ofUsers) != len(q.ofUsers) || len(ofUsers) > 0 && !reflect.DeepEqual(q.ofUsers, ofUsers) {
		q.ofUsers = ofUsers
		q.set()
	}
}

// setOfSettings counts keys anew by the quotas of the settings, which have changed.
func (q *quotas) setOfSettings() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.set()
}

func (q *quotas) set() {
	var all []admission.Quota
	for _, p := range q.settings.Load().PrefixQuotas {
		all = append(all, admission.Quota{Name: p.Prefix, Prefixes: []string{p.Prefix}, MaxKeys: p.MaxKeys})
	}
	for _, u := range q.ofUsers {
		all = append(all, admission.Quota{Name: "user " + u.User, Prefixes: u.Prefixes, MaxKeys: u.MaxKeys})
	}
	q.keys.SetQuotas(admission.NewQuotas(all))
}

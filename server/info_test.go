package server

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock/clocktest"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
)

// INFO has a line for each policy; a name that could be taken for more than one word is quoted.
func TestInfoPolicies(t *testing.T) {
	p := newSessionPlayer(t, 0)
	for _, command := range [][]string{
		{"RL.POLICY", "SET", "api", "TB", "k:{}", "2", "1/m"},
		{"RL.POLICY", "SET", "a:b\r\n# x", "TB", "s:{}", "1", "1/m", "SHADOW"},
		{"RL.CHECK", "api", "7"}, {"RL.CHECK", "api", "7"}, {"RL.CHECK", "api", "7"},
		{"RL.CHECK", "a:b\r\n# x", "7"}, {"RL.CHECK", "a:b\r\n# x", "7"},
		{"RL.CHECK", "a:b\r\n# x", "7", "PEEK"},
	} {
		if reply, err := p.Do("a", bytesOf(command), ""); err != nil || strings.HasPrefix(reply, "-") {
			t.Fatalf("%q: %s %v", command, reply, err)
		}
	}
	const want = "# Policies\r\n" +
		`policy_"a:b\r\n# x":shadow=1,granted=1,denied=0,shadow_denied=1` + "\r\n" +
		"policy_api:shadow=0,granted=2,denied=1,shadow_denied=0\r\n"
	if got := p.Info([]string{"policies"}); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// INFO server shows the version and the commit that the server was made with.
func TestInfoVersion(t *testing.T) {
	keys, clock := store.New(store.Config{Shards: 16}), clocktest.New(testStart).Clock
	s := New(Options{
		Config: config.Default(), Decider: &decider.Local{Store: keys, Clock: clock}, Keys: keys, Clock: clock,
		Log: slog.New(slog.DiscardHandler), Version: "1.2.3", Commit: "0123456789ab",
	})
	defer s.env.WaitQueue.Stop()
	if got := s.Info([]string{"server"}); !strings.Contains(got, "\r\nstint_version:1.2.3\r\nstint_commit:0123456789ab\r\n") {
		t.Errorf("%q", got)
	}
}

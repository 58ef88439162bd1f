package envoy

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/resp"
	"github.com/stintdb/stint/server/upstream"
)

// Envoys of a region and of its home share a limit of home: all streams together have at most its tokens.
func TestQuotasOfARegion(t *testing.T) {
	home := newHost(t, nil)
	region := newHost(t, func(_ *config.Config, o *server.Options) {
		keys := o.Keys.(*store.Store)
		u := upstream.New(upstream.Options{
			Addresses: home.addresses[:1], Keys: []string{"rls.*"}, Timeout: time.Minute, Decider: o.Decider, Policies: keys, Alone: true, Log: o.Log,
			Replicas: func() []upstream.Replica {
				return []upstream.Replica{{Store: keys, Now: o.Clock.Now, Leads: func() bool { return true }}}
			},
			Holder:   func() string { return "region" },
			Reserved: func(now int64, visit func(id []byte)) { store.ReservedFromPurses(keys, now, visit) },
		})
		t.Cleanup(func() { u.Close(context.Background()) })
		o.Decider = u
	})
	tokens := map[*host]int{}
	for _, h := range []*host{region, region, region, home, region, home, region, home} {
		got, err := h.quotas(context.Background()).ask("shop", usageOf("kind=mail", 0, 1, 0))
		if err != nil {
			t.Fatal(err)
		}
		n, rate := 0, 0
		if _, err := fmt.Sscanf(got, "DENY_ALL | %d, %d/31536000s", &n, &rate); err != nil && got != "DENY_ALL" {
			t.Error(got)
		}
		tokens[h] += n
	}
	if sum := tokens[region] + tokens[home]; tokens[region] == 0 || sum > 3 {
		t.Errorf("streams of the region have %d tokens, and all together %d of 3 a day", tokens[region], sum)
	}
	testwait.Until(t, "the region has a loan at home", func() bool {
		for _, loan := range resp.Elements(home.do("RL.LENT rls.shop:kind=mail|tokens")) {
			if who := resp.Elements(loan)[0].String(); len(who) > len("region/") && who[:7] == "region/" {
				return true
			}
		}
		return false
	})
}

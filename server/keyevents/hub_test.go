package keyevents_test

import (
	"slices"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/keyevents"
)

// Each listener hears of the changes between its first Listen and its last Stop, and the store is observed only
// meanwhile.
func TestListenersAreTold(t *testing.T) {
	hub, on := new(keyevents.Hub), false
	keys := store.New(store.Config{Shards: 4, Changed: hub.Changed})
	defer keys.Close()
	hub.Attach(func(to bool) { on = to; keys.Observe(to) })
	told := [2][]string{}
	var listeners [2]*keyevents.Listener
	for i := range listeners {
		listeners[i] = hub.NewListener(func(key []byte) { told[i] = append(told[i], string(key)) })
	}
	take := func(key string, want0, want1 []string) {
		t.Helper()
		limit := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 9, Rate: limits.Rate{Tokens: 1, Period: 1e9}}
		keys.Apply(1, []engine.Op{{Key: []byte(key), Limit: limit, Tokens: 1}}, make([]engine.Result, 1))
		if !slices.Equal(told[0], want0) || !slices.Equal(told[1], want1) {
			t.Errorf("after the change of %s the listeners were told %q", key, told)
		}
		told = [2][]string{}
		if want := want0 != nil || want1 != nil; on != want {
			t.Errorf("after the change of %s the store is observed: %v, want %v", key, on, want)
		}
	}
	take("a", nil, nil)
	listeners[0].Listen()
	take("b", []string{"b"}, nil)
	listeners[1].Listen()
	listeners[1].Listen()
	take("c", []string{"c"}, []string{"c"})
	listeners[0].Stop()
	listeners[1].Stop()
	take("d", nil, []string{"d"})
	listeners[1].Stop()
	take("e", nil, nil)
	listeners[0].Listen()
	take("f", []string{"f"}, nil)
	listeners[0].Stop()
}

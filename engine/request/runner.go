package request

import (
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/policy"
)

// Runner carries out requests on the keys of a keyspace. Any goroutine may call its methods. Create one with [New].
type Runner struct {
	keys     *keyspace.Keyspace
	policies *policy.Policies
	owns     func(key []byte) bool
}

// New returns a Runner for a keyspace, whose checks ask the limits of these policies. A request for a key that owns
// does not report as one of the keyspace's own is answered with [engine.CrossSlot]; nil owns all keys.
func New(keys *keyspace.Keyspace, policies *policy.Policies, owns func(key []byte) bool) *Runner {
	return &Runner{keys: keys, policies: policies, owns: owns}
}

package testmodel

import (
	"fmt"
	"maps"
	"slices"
)

// Certain records that all decisions until now are durable: a crash loses only later ones.
func (c *Calls) Certain() {
	m := c.Model
	m.since = pastStates{}
	for _, key := range slices.Concat(c.names(), slices.Collect(maps.Keys(m.keys))) {
		m.since[key] = []state{m.keys[key]}
	}
}

// pastStates are the states of keys since some moment, the first that of the moment; a state is nil if the key had
// none.
type pastStates map[string][]state

// add records a new state. Policies make keys that no call names.
func (p pastStates) add(key string, s state) {
	if p == nil {
		return
	}
	if p[key] == nil {
		p[key] = []state{nil}
	}
	p[key] = append(p[key], s)
}

// Recover continues from a server's state after a crash: each key has a state that it had at some time since the last
// Certain. It returns the keys whose state is ambiguous; delete them.
func (c *Calls) Recover(ask func(command ...string) (string, error)) (unclear []string, err error) {
	m := c.Model
	for _, key := range slices.Sorted(maps.Keys(m.since)) {
		looks := [][]string{{"RL.INFO", key}, {"RL.USAGE", key}, {"CC.HOLDERS", key}, {"SL.LOG", key}, {"RL.LENT", key}, {"BAL.INFO", key}}
		if slices.Contains(dataKeys, key) {
			looks = append(looks, []string{"GET", key}, []string{"PTTL", key})
		}
		var fits []state
		var all []string
		replies := make([]string, len(looks))
		for i, look := range looks {
			if replies[i], err = ask(look...); err != nil {
				return nil, err
			}
		}
		for _, s := range m.since[key] {
			if m.keys[key] = s; s == nil || !s.live(m.Now) {
				delete(m.keys, key)
				s = nil
			}
			shown := make([]string, len(looks))
			for i, look := range looks {
				shown[i] = m.Do(look...)
			}
			all = append(all, fmt.Sprintf("%q", shown))
			if slices.Equal(shown, replies) && !slices.Contains(fits, s) {
				fits = append(fits, s)
			}
		}
		switch delete(m.keys, key); {
		case len(fits) == 0:
			return nil, fmt.Errorf("%q is %q after a crash, and since the last certain moment it was only %s", key, replies, all)
		case len(fits) > 1:
			unclear = append(unclear, key)
		case fits[0] != nil:
			m.keys[key] = fits[0]
		}
	}
	return unclear, nil
}

// Restarted records that a server was restarted: the counts of its policies' decisions begin at 0, and it has forgotten
// what denied callers were told.
func (c *Calls) Restarted() {
	clear(c.Model.promised)
	for _, counted := range c.Model.checks {
		*counted = checks{}
	}
}

// HoldPolicies stops changes of policies.
func (c *Calls) HoldPolicies() { c.policy = false }

// HideCounts stops calls that show the decisions of policies, which each node of a cluster counts separately.
func (c *Calls) HideCounts() { c.hideCounts = true }

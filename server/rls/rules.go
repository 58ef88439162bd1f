package rls

import (
	"strings"
	"time"

	"github.com/stintdb/stint/engine/limits"
)

// Rules are the rules of all domains. They do not change.
type Rules struct {
	domains map[string]*domain
	all     []*Rule // of all domains, by file and line
	pushed  int     // descriptors of resources
}

// Counts are the number of domains, and of rules in them.
func (r *Rules) Counts() (domains, rules int) { return len(r.domains), len(r.all) }

// put adds a domain with its rules.
func (r *Rules) put(name string, d *domain, rules []*Rule) {
	if r.domains == nil {
		r.domains = map[string]*domain{}
	}
	r.domains[name] = d
	r.all = append(r.all, rules...)
}

type domain struct {
	node
	file string
}

// node is one descriptor of the configuration, or a domain.
type node struct {
	rule     *Rule              // nil if descriptors that end here have no limit
	children map[string]*values // by key
	shared   string             // of a wildcard with share_threshold: the pattern, which stands in keys for the value
}

// values are the descriptors with one key at one level.
type values struct {
	exact     map[string]*node
	wildcards []wildcard // in the order of the file: the first that matches applies
	any       *node      // without a value; nil if there is none
}

// wildcard is a value with stars.
type wildcard struct {
	parts []string // between the stars
	node  *node
}

// Rule is the limit of a descriptor.
type Rule struct {
	Name     string // "" for none; other rules replace it by its name
	Path     string // DOMAIN.KEY_VALUE.KEY
	Replaces []string

	Requests  uint32 // per unit; nothing is granted with 0
	Unit      Unit
	Unlimited bool
	Shadow    bool // a denial is counted, and answered with OK
	Quota     bool // a request is denied when all its quotas are used up, and not before

	// Algorithm decides in place of envoyproxy/ratelimit's fixed window; [limits.NoAlgorithm] for that.
	Algorithm limits.Algorithm
	Policy    string   // decides in place of Requests and Unit; "" for none
	With      []string // keys of the entries whose values are fields of the policy

	counts *Counts  // nil if nobody asks for them
	word   string   // of the limit in RL.ALL
	params []string // of the limit
}

// Unit is the time for which a rule's number of requests is.
type Unit uint8

// The units. Windows begin at multiples of their length since 1970.
const (
	NoUnit Unit = iota
	Second
	Minute
	Hour
	Day
	Week
	Month // of 30 days
	Year  // of 365 days
)

var units = [...]struct {
	word    string
	seconds int64
}{
	Second: {"second", 1}, Minute: {"minute", 60}, Hour: {"hour", 3600}, Day: {"day", 86400},
	Week: {"week", 7 * 86400}, Month: {"month", 30 * 86400}, Year: {"year", 365 * 86400},
}

// IsValid reports whether a limit can have the unit.
func (u Unit) IsValid() bool { return u > NoUnit && int(u) < len(units) }

// untilEnd is the number of seconds until the unit's window at a time ends, rounded up.
func (u Unit) untilEnd(now time.Time) int64 { return units[u].seconds - now.Unix()%units[u].seconds }

// unitOf is the unit with a name; NoUnit if there is none.
func unitOf(word string) Unit {
	for u := Second; u.IsValid(); u++ {
		if strings.EqualFold(units[u].word, word) {
			return u
		}
	}
	return NoUnit
}

// unitWords lists the units.
func unitWords() string {
	var words []string
	for _, u := range units[Second:] {
		words = append(words, u.word)
	}
	return strings.Join(words, ", ")
}

package rls

import (
	"strings"
	"time"

	"github.com/stintdb/stint/engine/limits"
)

// Rules are the rules of all domains. Once in use, they do not change.
type Rules struct {
	domains map[string]*domain
	all     []*Rule // of all domains, by file and line
	pushed  int     // the number of descriptors in pushed resources
}

// Counts returns the number of domains, and of rules in them.
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
	shared   string             // for a wildcard with share_threshold: the pattern, which replaces the value in keys
}

// values are the descriptors with one key at one level.
type values struct {
	exact     map[string]*node
	wildcards []wildcard // in the order of the file; the first match applies
	any       *node      // the descriptor without a value; nil if there is none
}

// wildcard is a value with stars.
type wildcard struct {
	parts []string // the texts between the stars
	node  *node
}

// Rule is the limit of a descriptor.
type Rule struct {
	Name     string // by which other rules can replace it; "" for none
	Path     string // DOMAIN.KEY_VALUE.KEY
	Replaces []string

	Requests  uint32 // per unit; 0 grants nothing
	Unit      Unit
	Unlimited bool
	Shadow    bool // a denial is counted, but answered with OK
	Quota     bool // a request is only denied when all its quotas are used up

	// Algorithm is the limit's algorithm; [limits.NoAlgorithm] is the fixed window of envoyproxy/ratelimit.
	Algorithm limits.Algorithm
	Policy    string   // a policy that decides in place of Requests and Unit; "" for none
	With      []string // keys of the entries whose values are fields of the policy

	counts *Counts  // nil for the rule of an override
	word   string   // the limit's word in RL.ALL
	params []string // the limit's parameters
}

// Unit is the time in which a rule grants its number of requests.
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

// untilEnd returns the number of seconds until the present window of the unit ends, rounded up.
func (u Unit) untilEnd(now time.Time) int64 { return units[u].seconds - now.Unix()%units[u].seconds }

// unitOf returns the unit with a name, NoUnit if there is none.
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

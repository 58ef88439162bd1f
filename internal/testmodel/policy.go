package testmodel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

type policy struct {
	limits    []request
	shadow    bool
	strict    bool
	overrides map[string][]request
	checks    *checks
}

// checks are the answered checks of all policies of one name.
type checks struct{ granted, denied, shadowDenied int64 }

func noPolicy(name string) error {
	return refuse("ERR no such policy '%s'; RL.POLICY LIST lists the policies", name[:min(len(name), 64)])
}

func equalFold(a, b string) bool { return strings.EqualFold(a, b) }

func (m *Model) policy(words []string) (string, error) {
	sub := strings.ToLower(words[1])
	c, known := map[string]command{
		"set": {4, 1 << 20, (*Model).setPolicy}, "get": {3, 4, (*Model).getPolicy}, "usage": {4, 1 << 20, policyUsage}, "del": {3, 3, (*Model).dropPolicy},
		"list": {2, 2, (*Model).listPolicies}, "override": {5, 1 << 20, (*Model).override}, "overrides": {3, 1 << 20, listOverrides},
	}[sub]
	if !known {
		return "", refuse("ERR unknown subcommand '%s'. Try RL.POLICY HELP.", words[1])
	}
	if len(words) < c.least || len(words) > c.most {
		if sub == "get" && len(words) > 4 {
			return "", refuse("ERR syntax error")
		}
		return "", refuse("ERR wrong number of arguments for 'rl.policy|%s' command", sub)
	}
	return c.do(m, words)
}

// readTemplates reads a policy's limits, or with an id an override's. Their keys and holders are templates.
func readTemplates(words []string, id *string) (all []request, rest []string, err error) {
	if all, rest, err = readSpecs(words); err != nil {
		return nil, nil, err
	}
	if err = checkTemplates(all); err != nil {
		return nil, nil, err
	}
	for i, r := range all {
		for _, other := range all[:i] {
			if other.key == r.key {
				return nil, nil, sameKey
			}
		}
	}
	for i, r := range all {
		for _, other := range all[:i] {
			if meet(symbols(other.key, id), symbols(r.key, id)) {
				return nil, nil, refuse("ERR spec: the keys '%s' and '%s' would be the same for some callers or fields; each limit needs a different text before {}, such as user: and all:",
					other.key[:min(64, len(other.key))], r.key[:min(64, len(r.key))])
			}
		}
	}
	return all, rest, nil
}

func (m *Model) setPolicy(words []string) (string, error) {
	name := words[2]
	if name == "" || len(name) > 255 {
		return "", refuse("ERR name: must be 1 to 255 bytes, got %d", len(name))
	}
	limits, rest, err := readTemplates(words[3:], nil)
	if err != nil {
		return "", err
	}
	var given []string
	for _, word := range rest {
		name := strings.ToUpper(word)
		if name != "SHADOW" && name != "STRICT" {
			return "", refuse("ERR syntax error: RL.POLICY SET does not take '%s' here; it takes SHADOW, STRICT", word)
		}
		if slices.Contains(given, name) {
			return "", refuse("ERR %s: given twice", name)
		}
		given = append(given, name)
	}
	p := m.policies[name]
	if p == nil {
		if m.checks[name] == nil {
			m.checks[name] = &checks{}
		}
		p = &policy{overrides: map[string][]request{}, checks: m.checks[name]}
		m.policies[name] = p
	}
	p.limits, p.shadow, p.strict = limits, slices.Contains(given, "SHADOW"), slices.Contains(given, "STRICT")
	return status("OK"), nil
}

func (m *Model) dropPolicy(words []string) (string, error) {
	if m.policies[words[2]] == nil {
		return integer(0), nil
	}
	delete(m.policies, words[2])
	return integer(1), nil
}

func (m *Model) listPolicies([]string) (string, error) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(m.policies)) {
		names = append(names, bulk(name))
	}
	return array(names...), nil
}

func (m *Model) override(words []string) (string, error) {
	id := words[3]
	if err := checkKey(id); err != nil {
		return "", err
	}
	var limits []request
	if len(words) != 5 || !equalFold(words[4], "NONE") {
		if id == "" {
			return "", errEmptyCaller
		}
		var rest []string
		var err error
		if limits, rest, err = readTemplates(words[4:], &id); err != nil {
			return "", err
		}
		if len(rest) > 0 {
			return "", refuse("ERR syntax error: RL.POLICY OVERRIDE does not take '%s' here; it takes no options", rest[0])
		}
	}
	p := m.policies[words[2]]
	if p == nil {
		return "", noPolicy(words[2])
	}
	if limits == nil {
		delete(p.overrides, id)
	} else {
		p.overrides[id] = limits
	}
	return status("OK"), nil
}

// limitsFor returns the limits of a caller in their original words.
func (p *policy) limitsFor(id string) []request {
	if limits, overridden := p.overrides[id]; overridden {
		return limits
	}
	return p.limits
}

var errEmptyCaller = refuse("ERR id: the caller's id must not be empty")

func (m *Model) check(words []string) (string, error) {
	id := words[2]
	if err := checkKey(id); err != nil {
		return "", err
	}
	if id == "" {
		return "", errEmptyCaller
	}
	call := request{tokens: 1}
	rest, err := call.readTokens("tokens", words[3:])
	if err == nil {
		err = call.readOptions("RL.CHECK", rest, []string{"PEEK", "KEEP", "MAXWAIT", "BLOCK", "PRIORITY", "AS", "FOR", "WARN", "SPLIT", "WITH"})
	}
	if err != nil {
		return "", err
	}
	if call.priority && !call.block {
		return "", errPriority
	}
	if err := call.checkReserve(); err != nil {
		return "", err
	}
	if call.id != nil {
		call.asked = describe(fmt.Sprintf("RL.CHECK %q %q", words[1], id), &call, nil)
		if v, err := m.reservedAs(&call); v != nil && err == nil {
			return m.repeat(v).hiding(&call).splitting(&call, v.limits()).reply(), nil
		}
	}
	p, limits, err := limitsOf(m, words[1], id, call.fields)
	if err != nil {
		return "", err
	}
	call.undelayed = p.shadow
	o, err := m.decideAll(limits, &call)
	if err != nil {
		return "", err
	}
	p.count(o, call.peek)
	if p.shadow {
		o.tokens, o.wait = call.tokens, 0 // it delays nobody
	}
	m.hold(o, &call)
	return o.showing(limits).hiding(&call).splitting(&call, limits).reply(), nil
}

// limitsOf are the limits of a policy for a caller and fields.
func limitsOf(m *Model, name, id string, fields []string) (*policy, []request, error) {
	p := m.policies[name]
	if p == nil {
		return nil, nil, noPolicy(name)
	}
	if err := p.checkFields(id, fields); err != nil {
		return nil, nil, err
	}
	limits := slices.Clone(p.limitsFor(id))
	for i := range limits {
		r := &limits[i]
		var noKey, noHolder error
		r.key, noKey = fill(r.key, id, fields)
		r.holder, noHolder = fill(r.holder, id, fields)
		if err := cmp.Or(noKey, noHolder); err != nil {
			return nil, nil, err
		}
		if len(r.key) > mostKey || r.limit.algorithm == concurrency && (r.holder == "" || len(r.holder) > 255) {
			return nil, nil, refuse("ERR id: with this id and these fields, a key of the policy is longer than --max-key-size or a holder is not 1 to 255 bytes")
		}
	}
	return p, limits, nil
}

func (p *policy) count(o *outcome, peek bool) {
	switch {
	case peek:
	case o.binding < 0:
		p.checks.granted++
	case p.shadow:
		p.checks.shadowDenied++
	default:
		p.checks.denied++
	}
}

func (m *Model) getPolicy(words []string) (string, error) {
	p := m.policies[words[2]]
	if p == nil {
		return null, nil
	}
	limits := p.limits
	if len(words) == 4 {
		limits = p.limitsFor(words[3])
	}
	shadow, strict := int64(0), int64(0)
	if p.shadow {
		shadow = 1
	}
	if p.strict {
		strict = 1
	}
	return array(bulk("limits"), specTexts(limits), bulk("overrides"), integer(int64(len(p.overrides))), bulk("granted"), integer(p.checks.granted),
		bulk("denied"), integer(p.checks.denied), bulk("shadow_denied"), integer(p.checks.shadowDenied), bulk("shadow"), integer(shadow), bulk("strict"), integer(strict)), nil
}

// listOverrides answers RL.POLICY OVERRIDES.
func listOverrides(m *Model, words []string) (string, error) {
	from, count := "", 100
	for options := words[3:]; len(options) > 0; options = options[2:] {
		switch {
		case len(options) == 1 || !equalFold(options[0], "FROM") && !equalFold(options[0], "COUNT"):
			return "", refuse("ERR syntax error")
		case equalFold(options[0], "FROM"):
			from = options[1]
		default:
			n, err := strconv.Atoi(options[1])
			if err != nil || n < 1 || n > 1000 {
				return "", refuse("ERR COUNT: must be an integer between 1 and 1000, got '%s'", options[1])
			}
			count = n
		}
	}
	p := m.policies[words[2]]
	if p == nil {
		return null, nil
	}
	next, shown := null, []string{}
	for _, id := range slices.Sorted(maps.Keys(p.overrides)) {
		if id < from {
			continue
		}
		if len(shown) == count {
			next = bulk(id)
			break
		}
		shown = append(shown, array(bulk(id), specTexts(p.overrides[id])))
	}
	return array(next, array(shown...)), nil
}

func specTexts(limits []request) string {
	var texts []string
	for _, r := range limits {
		text := []string{formOf(r.limit.algorithm).word, wordText(r.key)}
		if r.isElse {
			text = append([]string{"ELSE"}, text...)
		}
		var options []string
		for _, parameter := range r.limit.parameters() {
			if name := strings.ToUpper(parameter[0]); name == "TZ" || name == "FROM" || name == "HISTORY" || name == "ROLLOVER" || name == "SEGMENTS" || name == "DOUBLING" || name == "WARN" {
				options = append(options, name, parameter[1])
			} else {
				text = append(text, parameter[1])
			}
		}
		if r.holder != "" {
			text = append(text, wordText(r.holder))
		}
		text = append(text, options...)
		if r.cost {
			text = append(text, "COST", fmt.Sprint(r.tokens))
		}
		if r.keep != nil {
			text = append(text, "KEEP", r.keep.String())
		}
		if r.spread {
			text = append(text, "SPREAD")
		}
		texts = append(texts, bulk(strings.Join(text, " ")))
	}
	return array(texts...)
}

// wordText quotes a word as redis-cli does, where need be.
func wordText(word string) string {
	if word != "" && strings.Trim(word, plainBytes) == "" {
		return word
	}
	quoted := ""
	for i := range len(word) {
		switch b := word[i]; {
		case b == '"' || b == '\\':
			quoted += "\\" + word[i:i+1]
		case b < ' ' || b > '~':
			quoted += fmt.Sprintf("\\x%02x", b)
		default:
			quoted += word[i : i+1]
		}
	}
	return `"` + quoted + `"`
}

const plainBytes = "!#$%&()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[]^_`abcdefghijklmnopqrstuvwxyz{|}~"

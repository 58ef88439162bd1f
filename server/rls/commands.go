package rls

import (
	"strings"

	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/limiter"
)

// writeCommands writes a command for each descriptor. Descriptors whose rules name an algorithm share one RL.ALL, so
// that a denied request takes from none of their limits.
func (p *Plan) writeCommands() {
	together := -1 // the position of the shared RL.ALL among the commands
	used := map[string]bool(nil)
	denied := false
	for i := range p.matches {
		rule := p.matches[i].rule
		if rule == nil || rule.Unlimited || p.matches[i].namesNobody(p.request.Descriptors[i].Entries) {
			continue
		}
		hits := p.request.Descriptors[i].Hits
		if rule.Requests == 0 && rule.Policy == "" {
			denied = denied || !rule.alone()
			continue
		}
		key := p.key(i)
		switch {
		case rule.Policy != "":
			words := p.policyWords(i, max(hits, 1))
			if hits == 0 {
				words.Option("PEEK")
			}
			p.addFields(&words, i)
			p.add(askPolicy, i, words)
		case rule.Algorithm == limits.NoAlgorithm:
			p.addWindow(i, rule, key, hits)
		case rule.alone() || used[key] || len(key) > p.request.MaxKeyBytes: // an error about a key must not hide other denials
			p.add(askAll, i, oneLimit(rule, key, hits))
		default:
			if together < 0 {
				together, used = len(p.asks), map[string]bool{}
				p.asks, p.Commands = append(p.asks, ask{kind: askAll}), append(p.Commands, command.NewWords("RL.ALL"))
			}
			used[key] = true
			addLimit(&p.Commands[together], rule, key, hits)
			p.asks[together].descriptors = append(p.asks[together].descriptors, i)
		}
	}
	if denied && together >= 0 { // a rule grants nothing, so nothing must be taken
		p.Commands[together].Option("PEEK")
	}
}

func (p *Plan) add(kind askKind, i int, words command.Words) {
	p.asks, p.Commands = append(p.asks, ask{kind, []int{i}}), append(p.Commands, words)
}

// addWindow counts in a fixed window like envoyproxy/ratelimit. Several hits count even if they are denied, because
// Envoy reports what a request consumed, such as the tokens of a language model, at its end. A single hit is simply
// denied.
func (p *Plan) addWindow(i int, rule *Rule, key string, hits uint64) {
	if hits == 0 {
		p.add(askAll, i, oneLimit(rule, key, 0))
		return
	}
	words := command.NewWords("FW.ACQUIRE", append([]string{key}, rule.params...)...)
	if hits > 1 {
		words.Count(hits)
		words.Option("FORCE")
	}
	p.add(askOne, i, words)
}

func oneLimit(rule *Rule, key string, hits uint64) command.Words {
	words := command.NewWords("RL.ALL")
	addLimit(&words, rule, key, hits)
	return words
}

func addLimit(words *command.Words, rule *Rule, key string, hits uint64) {
	limiter.AppendLimit(words, rule.word, key, rule.params...)
	words.Option("COST")
	words.Count(hits)
}

// policyWords checks a policy. The caller is the value of the last entry. Options and then fields may follow.
func (p *Plan) policyWords(i int, hits uint64) command.Words {
	entries := p.request.Descriptors[i].Entries
	words := command.NewWords("RL.CHECK", p.matches[i].rule.Policy, entries[len(entries)-1].Value)
	words.Count(hits)
	words.Option("WARN")
	return words
}

// addFields appends the values of the entries that the policy's rule names as fields.
func (p *Plan) addFields(words *command.Words, i int) {
	for _, name := range p.matches[i].rule.With {
		words.With(name, valueOf(p.request.Descriptors[i].Entries, name))
	}
}

// key returns the key of a descriptor's limit: rls.DOMAIN:KEY=VALUE|KEY=VALUE, followed by |WORD if the rule names an
// algorithm, because a key has one algorithm. Separators in the parts are escaped as in URLs, so that no two
// descriptors have the same key.
func (p *Plan) key(i int) string {
	var b strings.Builder
	b.WriteString("rls.")
	escape(&b, p.request.Domain, ":%")
	m := &p.matches[i]
	for j, e := range p.request.Descriptors[i].Entries {
		b.WriteByte(":|"[min(j, 1)])
		escape(&b, e.Key, "=|%")
		b.WriteByte('=')
		value := e.Value
		if pattern, is := m.shared[j]; is {
			value = pattern
		}
		escape(&b, value, "|%")
	}
	if m.rule.Algorithm != limits.NoAlgorithm {
		b.WriteByte('|')
		b.WriteString(m.rule.word)
	}
	return b.String()
}

// escape writes text, with some bytes as a percent sign and two hexadecimal digits.
func escape(b *strings.Builder, text, bytes string) {
	if !strings.ContainsAny(text, bytes) {
		b.WriteString(text)
		return
	}
	const digits = "0123456789ABCDEF"
	for i := range len(text) {
		if c := text[i]; strings.IndexByte(bytes, c) >= 0 {
			b.Write([]byte{'%', digits[c>>4], digits[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
}

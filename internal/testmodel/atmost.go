package testmodel

import (
	"slices"
	"strconv"
)

var atMostWords = []string{"CL", "TB", "LB", "FW", "SW", "SL"}

// atMost answers RL.ATMOST: what remains beyond the tokens to be left is taken.
func (m *Model) atMost(words []string) (string, error) {
	r := request{key: words[1], upTo: true}
	if err := checkKey(r.key); err != nil {
		return "", err
	}
	f := specForm(words[2])
	if f == nil || !slices.Contains(atMostWords, f.word) {
		return "", refuse("ERR spec: RL.ATMOST does not apply to '%s': expected one of CL TB LB FW SW SL", words[2][:min(64, len(words[2]))])
	}
	if words = words[3:]; len(words) < f.words+1 {
		return "", refuse("ERR wrong number of arguments for 'rl.atmost' command; usage: RL.ATMOST key spec tokens [TZ zone] [FROM beginning] [HISTORY windows] [WARN percentage]")
	}
	var err error
	if r.limit, err = f.limit(words[:f.words]); err != nil {
		return "", err
	}
	left, err := between("tokens", words[f.words], 0, mostTokens)
	if err != nil {
		return "", err
	}
	r.tokens, r.keep = r.limit.most, &kept{number: ratio(left)}
	if err = r.readOptions("RL.ATMOST", words[f.words+1:], []string{"TZ", "FROM", "HISTORY", "WARN"}); err != nil {
		return "", err
	}
	a, err := m.ask(&r)
	if err != nil {
		return "", err
	}
	a.warn = r.limit.warn
	return integers(a.withWarn(a.tokens, a.limit, a.remaining, 0, millis(a.reset))...), nil
}

// atMost is a random RL.ATMOST, mostly of a key whose algorithm it applies to.
func (c *Calls) atMost() []string {
	k := c.keys[c.random.IntN(len(c.keys))]
	for range 3 {
		if !slices.Contains(atMostWords, k.form.word) {
			k = c.keys[c.random.IntN(len(c.keys))]
		}
	}
	limit := c.limit(k)
	words := slices.Concat([]string{c.pick("RL.ATMOST", "rl.atmost"), k.name, k.form.word}, limit, []string{c.pick(strconv.Itoa(c.random.IntN(12)), c.tokens(12))})
	return append(append(append(words, randomAnchor(c, k.form, limit)...), randomHistory(c, k.form, limit)...), randomWarn(c)...)
}

package stinttest

import (
	"fmt"
	"strings"

	stint "github.com/stintdb/stint/clients/go"
)

func (f *Fake) check(words []string) (string, error) {
	n, err := number(words[2])
	if err != nil {
		return "", err
	}
	parts, showWarn, err := f.partsOf(words[0], words[1], words[3:])
	if err != nil {
		return "", err
	}
	for i := range parts {
		parts[i].n = n
	}
	return f.several(parts, n, showWarn)
}

// partsOf is the limits of a policy for an id. Options are WARN, and WITH and the fields.
func (f *Fake) partsOf(policy, id string, options []string) (parts []part, showWarn bool, err error) {
	rules, ok := f.policies[policy]
	if !ok {
		return nil, false, fmt.Errorf("ERR no such policy '%s'", policy)
	}
	names := []string{"{}", id}
	if showWarn = len(options) > 0 && options[0] == "WARN"; showWarn {
		options = options[1:]
	}
	if len(options) > 0 && options[0] != "WITH" {
		return nil, false, lacks(options[0] + " in RL.CHECK")
	}
	for i := 1; i+1 < len(options); i += 2 {
		names = append(names, "{"+options[i]+"}", options[i+1])
	}
	for _, r := range rules {
		l, err := limitOf(r.Limit)
		if err != nil {
			return nil, false, err
		}
		parts = append(parts, part{key: strings.NewReplacer(names...).Replace(r.Key), limit: l})
	}
	return parts, showWarn, nil
}

// limitOf is a limit of package stint as the server reads it.
func limitOf(given stint.Limit) (limit, error) {
	words := strings.Fields(given.String())
	s, ok := specOf(words[0])
	if !ok {
		return limit{}, lacks("limit " + given.String())
	}
	l, err := s.parse(words[1:])
	if err == nil {
		_, err = l.options(words[1+s.words:])
	}
	return l, err
}

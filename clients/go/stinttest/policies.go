package stinttest

import (
	"errors"
	"fmt"
	"strings"

	stint "github.com/stintdb/stint/clients/go"
)

func (f *Fake) check(words []string) (string, error) {
	n, err := number(words[2])
	if err != nil {
		return "", err
	}
	r := request{text: "RL.CHECK " + strings.Join(words, "\x00"), n: n}
	options := words[3:]
	for len(options) > 0 && options[0] != "WITH" {
		if options[0] == "WARN" {
			r.showWarn, options = true, options[1:]
			continue
		}
		if err := r.option(options, "RL.CHECK"); err != nil {
			return "", err
		}
		options = options[2:]
	}
	parts, err := f.partsOf(words[0], words[1], options)
	if err != nil {
		return "", err
	}
	for i := range parts {
		parts[i].n = n
	}
	return f.once(parts, r)
}

// partsOf is the limits of a policy for an id. With is empty, or WITH and the fields.
func (f *Fake) partsOf(policy, id string, with []string) (parts []part, err error) {
	rules, ok := f.policies[policy]
	if !ok {
		return nil, fmt.Errorf("ERR no such policy '%s'", policy)
	}
	if id == "" {
		return nil, errors.New("ERR id: the caller's id must not be empty")
	}
	names := []string{"{}", id}
	for i := 1; i+1 < len(with); i += 2 {
		if with[i+1] == "" {
			return nil, fmt.Errorf("ERR WITH: the value of the field '%s' must not be empty", with[i])
		}
		names = append(names, "{"+with[i]+"}", with[i+1])
	}
	for _, r := range rules {
		l, err := limitOf(r.Limit)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{key: strings.NewReplacer(names...).Replace(r.Key), limit: l})
	}
	return parts, nil
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

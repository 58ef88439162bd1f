package stinttest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	stint "github.com/stintdb/stint/clients/go"
)

func (f *Fake) check(words []string) (string, error) {
	n, err := number(words[2])
	if err != nil {
		return "", err
	}
	options, isSplit := words[3:], false
	if len(options) > 0 && (options[0] == "WARN" || options[0] == "SPLIT") { // no limit here warns
		options, isSplit = options[1:], options[0] == "SPLIT"
	}
	if len(options) > 0 && options[0] != "WITH" {
		return "", lacks(options[0] + " in RL.CHECK")
	}
	parts, err := f.partsOf(words[0], words[1], options)
	if err != nil {
		return "", err
	}
	for i := range parts {
		parts[i].n = n
	}
	return f.several(parts, n, isSplit)
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
	if !slices.Contains(specs, words[0]) {
		return limit{}, lacks("limit " + given.String())
	}
	l, rest, err := parse(words[0], words[1:])
	if err == nil {
		rest, err = l.readOption(rest)
	}
	if err != nil || len(rest) > 0 {
		return limit{}, lacks("limit " + given.String())
	}
	return l, nil
}

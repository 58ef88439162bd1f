package limiter

import (
	"slices"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

func specOf(algorithm limits.Algorithm) *limitSpec {
	if algorithm == limits.SlidingSegments {
		algorithm = limits.SlidingWindow // of which it is an option
	}
	for i := range limitSpecs {
		if limitSpecs[i].algorithm == algorithm {
			return &limitSpecs[i]
		}
	}
	return nil
}

// ancestorSpec is the row of the ancestors of a class.
var ancestorSpec = &limitSpecs[slices.IndexFunc(limitSpecs, func(k limitSpec) bool { return k.isAncestor })]

func findSpec(word []byte) *limitSpec {
	for i := range limitSpecs {
		if k := &limitSpecs[i]; command.IsWord(word, k.word) {
			return k
		}
	}
	return nil
}

// SpecWords are the words that begin a limit in RL.ALL and policies, such as TB.
func SpecWords() (words []string) {
	for _, k := range limitSpecs {
		words = append(words, k.word)
	}
	return words
}

func specWords() string { return strings.Join(SpecWords(), " ") }

// SpecArguments returns the names of the arguments after the word of a limit: its key, its parameters, and its holder
// or member.
func SpecArguments(word string) (names []string, known bool) {
	k := findSpec([]byte(word))
	if k == nil {
		return nil, false
	}
	return k.arguments(), true
}

func (k *limitSpec) arguments() []string {
	names := append([]string{"key"}, k.params...)
	if k.who != "" {
		names = append(names, k.who)
	}
	return names
}

// specSyntax lists how limits are written in RL.ALL and policies. It joins words with the same parameters.
func specSyntax() string {
	var words, params []string
	for _, k := range limitSpecs {
		if k.isAncestor {
			continue // part of the syntax of a class
		}
		p := strings.Join(k.arguments(), " ") + k.options
		if at := slices.Index(params, p); at >= 0 {
			words[at] += "/" + k.word
		} else {
			words, params = append(words, k.word), append(params, p)
		}
	}
	for i := range words {
		words[i] += " " + params[i]
	}
	return strings.Join(words, "; ")
}

// readSpec parses a key, the parameters of its limit and, if it has one, the holder or member into op. It returns the
// remaining words. position counts the limits of the command.
func readSpec(r *command.Request, op *engine.Op, k *limitSpec, words [][]byte, position int) (rest [][]byte, err error) {
	op.Key, op.Tokens = words[0], 1
	if err = r.Key(op.Key); err != nil {
		return nil, err
	}
	end := 1 + len(k.params)
	cached, err := readLimits(r, k, words[1:end], position)
	if err != nil {
		return nil, err
	}
	op.Limit = cached.Limit
	switch {
	case k.who != "":
		op.Who = words[end]
		if err = holderOrMember(k.who, op.Who); err == nil && k.algorithm == limits.Concurrency {
			err = notSwapped(words[end-1], op.Who)
		}
		end++
	case k.assured != nil:
		start := len(r.Assured)
		r.Assured = engine.AppendAssured(r.Assured, cached.Assured.Capacity, cached.Assured.Rate)
		op.Who = r.Assured[start:len(r.Assured):len(r.Assured)]
	}
	return words[end:], err
}

// readLimitOfKey parses the limit of a command of the form "key, word, parameters, more arguments" into op, and returns
// the words after the parameters, at least as many as more. It returns notTaken for a limit that takes does not accept.
func readLimitOfKey(r *command.Request, op *engine.Op, takes func(limits.Algorithm) bool, notTaken *resp.WireError, more int) (words [][]byte, err error) {
	if err := r.Key(op.Key); err != nil {
		return nil, err
	}
	k := findSpec(r.Args[2])
	if k == nil || !takes(k.algorithm) {
		return nil, notTaken.With(command.Truncate(r.Args[2], 64), wordsOf(takes))
	}
	words = r.Args[3:]
	if len(words) < len(k.params)+more {
		return nil, command.WrongArity(command.LookUp(r.Args[0]))
	}
	cached, err := readLimits(r, k, words[:len(k.params)], 0)
	if err != nil {
		return nil, err
	}
	op.Limit = cached.Limit
	return words[len(k.params):], nil
}

// wordsOf lists the words of the limits that takes accepts.
func wordsOf(takes func(limits.Algorithm) bool) string {
	var words []string
	for _, k := range limitSpecs {
		if takes(k.algorithm) {
			words = append(words, k.word)
		}
	}
	return strings.Join(words, " ")
}

// readLimits parses a limit's parameters, including the assured rate of a class. It caches the limit, because most
// commands repeat the parameters of the previous command. The result is valid until the next call.
func readLimits(r *command.Request, k *limitSpec, a [][]byte, position int) (*command.CachedLimit, error) {
	last := &r.Last[position%len(r.Last)]
	if last.Matches(k.word, a) {
		return last, nil
	}
	var limit, assured limits.Limit
	var err error
	if k.assured != nil {
		if assured, err = k.assured(r, a); err == nil {
			assured.Algorithm = limits.TokenBucket
			err = checkLimit(&assured, a[0])
		}
	}
	if err == nil {
		limit, err = parseLimit(r, k, a)
	}
	if err != nil {
		return nil, err
	}
	last.Store(k.word, a, limit, assured)
	return last, nil
}

func parseLimit(r *command.Request, k *limitSpec, a [][]byte) (limits.Limit, error) {
	l, err := k.read(r, a)
	if err != nil {
		return l, err
	}
	if l.Algorithm = k.algorithm; len(a) == 0 {
		return l, nil
	}
	return l, checkLimit(&l, a[0])
}

// checkLimit refuses a limit whose parameters contradict each other. first is the text of the first parameter.
func checkLimit(l *limits.Limit, first []byte) error {
	if err := l.Check(); err != nil {
		return command.ArgumentError(l.Params()[0].Name, err.Error(), first)
	}
	return nil
}

// holder checks the name of a lease's holder.
func holder(name []byte) error { return holderOrMember(holderName, name) }

// holderOrMember checks the name of a lease's holder or of a fair share's member.
func holderOrMember(argument string, name []byte) error {
	switch {
	case len(name) > 0 && len(name) <= engine.MaxHolderBytes:
		return nil
	case argument == memberName:
		return errMember.With(engine.MaxHolderBytes, len(name))
	default:
		return errHolder.With(engine.MaxHolderBytes, len(name))
	}
}

// notSwapped refuses a holder that is a duration with a unit if the ttl has no unit: they were probably swapped.
func notSwapped(ttl, holder []byte) error {
	_, noUnit := command.ParseInteger(ttl)
	last := holder[len(holder)-1]
	if !noUnit || last < 'A' || holder[0] < '0' || holder[0] > '9' {
		return nil // the usual case, decided at little cost
	}
	if _, err := limits.ParseDuration(string(holder)); err != nil {
		return nil
	}
	return errSwapped.With(command.Truncate(holder, 64), command.Truncate(ttl, 64))
}

// isAncestor reports whether a limit belongs to an ancestor of a class.
func isAncestor(op *engine.Op) bool { return op.Limit.Algorithm == limits.Class && len(op.Who) == 0 }

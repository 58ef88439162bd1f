package limiter

import (
	"bytes"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
)

// readSpecs parses limits up to the first word that does not begin one.
func readSpecs(r *command.Request, words [][]byte) (parts []engine.Op, rest [][]byte, err error) {
	first := len(r.Parts)
	for len(words) > 0 {
		options := engine.Option(0)
		if command.IsWord(words[0], elseWord) {
			options, words = engine.Else, words[1:]
		}
		k, found := specAt(words)
		if !found && options == 0 {
			break
		}
		if !found || options != 0 && k.algorithm != limits.Balance {
			return nil, nil, errElse
		}
		if words, err = appendSpec(r, k, words[1:], first); err != nil {
			return nil, nil, err
		}
		part := &r.Parts[len(r.Parts)-1]
		if words, err = r.LeadingOptions(part, words, specOptions); err != nil {
			return nil, nil, err
		}
		part.Options |= options
	}
	parts = r.Parts[first:]
	if err := checkTrees(parts); err != nil {
		return nil, nil, err
	}
	if err := checkBalance(parts); err != nil {
		return nil, nil, err
	}
	if len(parts) == 0 {
		got := ""
		if len(words) > 0 {
			got = string(command.Truncate(words[0], 64))
		}
		return nil, nil, errSpecWord.With(specWords(), got)
	}
	return parts[:len(parts):len(parts)], words, nil
}

// checkBalance refuses a balance that is not the last limit, and an ELSE that divides no cost.
func checkBalance(parts []engine.Op) error {
	for i := range parts {
		if i < len(parts)-1 && parts[i].Limit.Algorithm == limits.Balance {
			return errBalanceLast
		}
	}
	if several := (engine.Op{Parts: parts}); !several.ElseValidly() {
		return errElse
	}
	return nil
}

// elseWord is the word before the balance that gives what the limits before it cannot.
const elseWord = "ELSE"

func specAt(words [][]byte) (k *limitSpec, found bool) {
	if len(words) > 0 {
		k = findSpec(words[0])
	}
	return k, k != nil
}

// appendSpec parses a limit after its first word, and appends it to r.Parts. The request's limits begin at first.
func appendSpec(r *command.Request, k *limitSpec, words [][]byte, first int) (rest [][]byte, err error) {
	size := 1 + len(k.params)
	if k.who != "" {
		size++
	}
	if len(words) < size {
		return nil, errSpecShort.With(k.word, size, strings.Join(k.arguments(), " "), len(words))
	}
	position := len(r.Parts) - first
	if position == engine.MaxParts {
		return nil, errTooManySpecs.With(engine.MaxParts)
	}
	r.Parts = append(r.Parts, engine.Op{})
	return readSpec(r, &r.Parts[first+position], k, words, position)
}

var specOptions = []command.Option{optCost, optKeep, optWeight, optZone, optFrom, optHistory, optRollover, optSegments, optDoubling, optWarn, optSpread}

// SpecOption is an option that may follow a limit.
type SpecOption struct {
	Word     command.Keyword
	HasValue bool
	IsText   bool // the value is neither a number nor a percentage
}

// SpecOptions returns the options that may follow a limit.
func SpecOptions() (all []SpecOption) {
	for _, o := range specOptions {
		all = append(all, SpecOption{command.Keyword(o.Name), o.HasValue, o.IsText})
	}
	return all
}

// checkTrees refuses incomplete trees of classes. A COST at any node of a tree applies to the whole tree.
func checkTrees(parts []engine.Op) error {
	for first := 0; first < len(parts); {
		if parts[first].Limit.Algorithm != limits.Class {
			first++
			continue
		}
		end := first + 1
		for end < len(parts) && isAncestor(&parts[end]) {
			end++
		}
		if levels := end - first; isAncestor(&parts[first]) {
			return errTreeWithoutClass
		} else if levels < 2 || levels > engine.MaxTreeLevels {
			return errTreeLevels.With(engine.MaxTreeLevels-1, levels-1)
		}
		cost := parts[first]
		for i := first; i < end; i++ {
			for _, below := range parts[first:i] {
				if bytes.Equal(below.Key, parts[i].Key) {
					return errTreeCircle.With(command.Truncate(parts[i].Key, 64))
				}
			}
			if parts[i].Options&engine.FixedCost != 0 {
				cost = parts[i]
			}
		}
		for i := first; i < end; i++ {
			parts[i].Tokens, parts[i].Options = cost.Tokens, cost.Options
		}
		first = end
	}
	return nil
}

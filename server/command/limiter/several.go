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
		k := findSpec(words[0])
		if k == nil {
			break
		}
		if words, err = appendSpec(r, k, words[1:], first); err != nil {
			return nil, nil, err
		}
		if words, err = r.LeadingOptions(&r.Parts[len(r.Parts)-1], words, specOptions); err != nil {
			return nil, nil, err
		}
	}
	parts = r.Parts[first:]
	if err := checkTrees(parts); err != nil {
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

var specOptions = []command.Option{optCost, optKeep, optWeight, optZone, optFrom, optHistory, optRollover, optSegments, optWarn, optSpread}

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

package script

import "github.com/stintdb/stint/engine/script/interpreter"

// kept is what the libraries keep of a run, until it ends.
type kept struct {
	random random
	json   jsonOptions
}

func keptBy(r *interpreter.Run) *kept {
	k, _ := r.Kept.(*kept)
	if k == nil {
		k = &kept{random: firstRandom, json: defaultJSON}
		r.Kept = k
	}
	return k
}

// All are the libraries by name.
func All() map[string]interpreter.Library {
	return map[string]interpreter.Library{
		"bit":      {Functions: bitFunctions},
		"cjson":    {Functions: jsonFunctions, Constants: jsonConstants},
		"cmsgpack": {Functions: packFunctions, Constants: packConstants},
		"math":     {Functions: mathFunctions, Constants: mathConstants},
		"string":   {Functions: stringFunctions},
		"struct":   {Functions: structFunctions},
		"table":    {Functions: tableFunctions},
	}
}

package script

// kept is what the libraries keep of a run, until it ends.
type kept struct {
	random random
	json   jsonOptions
}

func keptBy(r *run) *kept {
	k, _ := r.kept.(*kept)
	if k == nil {
		k = &kept{random: firstRandom, json: defaultJSON}
		r.kept = k
	}
	return k
}

// All are the libraries by name.
func All() map[string]library {
	return map[string]library{
		"bit":      {functions: bitFunctions},
		"cjson":    {functions: jsonFunctions, constants: jsonConstants},
		"cmsgpack": {functions: packFunctions, constants: packConstants},
		"math":     {functions: mathFunctions, constants: mathConstants},
		"string":   {functions: stringFunctions},
		"struct":   {functions: structFunctions},
		"table":    {functions: tableFunctions},
	}
}

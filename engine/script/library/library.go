// Package library has the functions that scripts find in tables of the globals, but for those of the language that need
// the interpreter, and for those of Redis: tonumber and the like, string, table, math, bit, struct, cjson and cmsgpack.
package library

import "github.com/stintdb/stint/engine/script/interpreter"

// kept is the state of the libraries, until a run ends.
type kept struct {
	random random
	json   jsonOptions
}

// keptBy returns the state of the libraries in a run, whose random numbers and settings begin the same each time.
func keptBy(r *interpreter.Run) *kept {
	k, _ := r.Kept.(*kept)
	if k == nil {
		k = &kept{}
		k.Reset()
		r.Kept = k
	}
	return k
}

// Reset makes it as each run finds it.
func (k *kept) Reset() { k.random, k.json = firstRandom, defaultJSON }

// All are the libraries by name.
func All() map[string]interpreter.Library {
	return map[string]interpreter.Library{
		"":         {Functions: baseFunctions, Unaries: baseUnaries},
		"bit":      {Functions: bitFunctions},
		"cjson":    {Functions: jsonFunctions, Constants: jsonConstants},
		"cmsgpack": {Functions: packFunctions, Constants: packConstants},
		"math":     {Functions: mathFunctions, Directs: mathDirects, Unaries: mathUnaries, Constants: mathConstants},
		"string":   {Functions: stringFunctions, Directs: stringDirects},
		"struct":   {Functions: structFunctions},
		"table":    {Functions: tableFunctions},
	}
}

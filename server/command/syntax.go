package command

import "strings"

// argument is a node of a command's syntax, as COMMAND DOCS shows it.
type argument struct {
	name     string
	kind     string // key, string, integer, pure-token, oneof, block
	token    string
	optional bool
	multiple bool
	sub      []argument
}

// integerArguments are the values that are numbers; every other is a string, but for key.
var integerArguments = map[string]bool{
	"max_burst": true, "count": true, "period": true, "quantity": true, "capacity": true, "tokens": true,
	"max-burst": true, "tokens-per-period": true, "tat": true,
	"limit": true, "amount": true, "rate_capacity": true, "ceil_capacity": true,
	"cursor": true, "index": true, "protover": true, "numreplicas": true, "timeout": true, "client-id": true,
}

// parseSyntax reads a row's Syntax.
func parseSyntax(syntax string) []argument {
	for _, mark := range []string{"[", "]", "|"} {
		syntax = strings.ReplaceAll(syntax, mark, " "+mark+" ")
	}
	args, rest := parseWords(strings.Fields(syntax))
	if len(rest) > 0 {
		panic("command: unbalanced syntax " + syntax)
	}
	return args
}

// parseWords reads up to a closing bracket or the end. Words and alternatives come in sequence; a token is joined with
// the value that follows it.
func parseWords(words []string) (args []argument, rest []string) {
	var alternatives [][]argument
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch {
		case word == "]":
			return oneOf(alternatives, args), words
		case word == "[":
			var inner []argument
			inner, words = parseWords(words)
			args = append(args, optional(inner))
		case word == "|":
			alternatives, args = append(alternatives, args), nil
		case word == "...":
			args[len(args)-1].multiple = true
		case len(args) > 0 && args[len(args)-1].kind == "pure-token" && !args[len(args)-1].optional && !isToken(word):
			value := newArgument(word)
			value.token = args[len(args)-1].token
			args[len(args)-1] = value
		default:
			args = append(args, newArgument(word))
		}
	}
	return oneOf(alternatives, args), nil
}

func isToken(word string) bool { return strings.ToUpper(word) == word }

func newArgument(word string) argument {
	switch {
	case isToken(word):
		return argument{name: strings.ToLower(word), kind: "pure-token", token: word}
	case word == "key":
		return argument{name: word, kind: "key"}
	case integerArguments[word]:
		return argument{name: word, kind: "integer"}
	}
	return argument{name: word, kind: "string"}
}

func oneOf(alternatives [][]argument, last []argument) []argument {
	if alternatives == nil {
		return last
	}
	one := argument{name: "option", kind: "oneof"}
	for _, a := range append(alternatives, last) {
		one.sub = append(one.sub, block(a))
	}
	return []argument{one}
}

func block(args []argument) argument {
	if len(args) == 1 {
		return args[0]
	}
	return argument{name: args[0].name, kind: "block", sub: args}
}

// optional makes a bracket's content one argument. "key [key ...]" is written with the repeated word inside.
func optional(args []argument) argument {
	a := block(args)
	a.optional = true
	return a
}

// arityOf counts the required arguments, the fixed words of the name included.
func arityOf(args []argument, fixed int) int {
	open := false
	for _, a := range args {
		open = open || a.optional || a.multiple
		if a.optional {
			continue
		}
		fixed += width(a)
	}
	if open {
		return -fixed
	}
	return fixed
}

// width is the number of words an argument takes at least.
func width(a argument) int {
	words := 0
	switch a.kind {
	case "block":
		for _, s := range a.sub {
			if !s.optional {
				words += width(s)
			}
		}
	case "oneof":
		words = width(a.sub[0])
		for _, s := range a.sub[1:] {
			words = min(words, width(s))
		}
	default:
		words = 1
		if a.token != "" && a.kind != "pure-token" {
			words++
		}
	}
	return words
}

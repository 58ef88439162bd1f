package command

import "strings"

// Argument is a node of a command's syntax, as COMMAND DOCS shows it.
type Argument struct {
	Name     string
	Kind     string // key, string, integer, pure-token, oneof, block
	Token    string
	Optional bool
	Multiple bool
	Sub      []Argument
}

// IntegerArguments are the names of arguments that are integers. Others are strings, except for key.
var IntegerArguments = map[string]bool{
	"max_burst": true, "count": true, "period": true, "quantity": true, "capacity": true, "tokens": true,
	"max-burst": true, "tokens-per-period": true, "tat": true,
	"limit": true, "amount": true, "denials": true, "rate_capacity": true, "ceil_capacity": true,
	"cursor": true, "index": true, "protover": true, "numreplicas": true, "timeout": true, "client-id": true,
}

// parseSyntax parses a row's Syntax.
func parseSyntax(syntax string) []Argument {
	for _, mark := range []string{"[", "]", "|"} {
		syntax = strings.ReplaceAll(syntax, mark, " "+mark+" ")
	}
	args, rest := parseWords(strings.Fields(syntax))
	if len(rest) > 0 {
		panic("command: unbalanced syntax " + syntax)
	}
	return args
}

// parseWords parses words up to a closing bracket or the end. A token is joined with the value that follows it.
func parseWords(words []string) (args []Argument, rest []string) {
	var alternatives [][]Argument
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		switch {
		case word == "]":
			return oneOf(alternatives, args), words
		case word == "[":
			var inner []Argument
			inner, words = parseWords(words)
			args = append(args, optional(inner))
		case word == "|":
			alternatives, args = append(alternatives, args), nil
		case word == "...":
			args[len(args)-1].Multiple = true
		case len(args) > 0 && args[len(args)-1].Kind == "pure-token" && !args[len(args)-1].Optional && !isToken(word):
			value := newArgument(word)
			value.Token = args[len(args)-1].Token
			args[len(args)-1] = value
		default:
			args = append(args, newArgument(word))
		}
	}
	return oneOf(alternatives, args), nil
}

func isToken(word string) bool { return strings.ToUpper(word) == word }

func newArgument(word string) Argument {
	switch {
	case isToken(word):
		return Argument{Name: strings.ToLower(word), Kind: "pure-token", Token: word}
	case word == "key":
		return Argument{Name: word, Kind: "key"}
	case IntegerArguments[word]:
		return Argument{Name: word, Kind: "integer"}
	}
	return Argument{Name: word, Kind: "string"}
}

func oneOf(alternatives [][]Argument, last []Argument) []Argument {
	if alternatives == nil {
		return last
	}
	one := Argument{Name: "option", Kind: "oneof"}
	for _, a := range append(alternatives, last) {
		one.Sub = append(one.Sub, block(a))
	}
	return []Argument{one}
}

func block(args []Argument) Argument {
	if len(args) == 1 {
		return args[0]
	}
	return Argument{Name: args[0].Name, Kind: "block", Sub: args}
}

// optional makes one argument of what is in brackets.
func optional(args []Argument) Argument {
	a := block(args)
	a.Optional = true
	return a
}

// arityOf returns the arity. fixed is the number of words in the command's name.
func arityOf(args []Argument, fixed int) int {
	open := false
	for _, a := range args {
		open = open || a.Optional || a.Multiple
		if a.Optional {
			continue
		}
		fixed += width(a)
	}
	if open {
		return -fixed
	}
	return fixed
}

// width is the least number of words of an argument.
func width(a Argument) int {
	words := 0
	switch a.Kind {
	case "block":
		for _, s := range a.Sub {
			if !s.Optional {
				words += width(s)
			}
		}
	case "oneof":
		words = width(a.Sub[0])
		for _, s := range a.Sub[1:] {
			words = min(words, width(s))
		}
	default:
		words = 1
		if a.Token != "" && a.Kind != "pure-token" {
			words++
		}
	}
	return words
}

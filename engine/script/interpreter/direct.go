package interpreter

import (
	"github.com/stintdb/stint/engine/script/syntax"
	"github.com/stintdb/stint/engine/script/value"
)

// Direct carries out a call of a library's function without a frame of its own, and returns the function's only result.
// It returns false, before it has charged or done anything, to make the interpreter call the function itself: for
// arguments that it does not take, and for errors, which name the function.
type Direct func(L *Thread, args []value.Value) (result value.Value, done bool)

// Unary is a [Direct] for calls with one argument.
type Unary func(L *Thread, arg value.Value) (result value.Value, done bool)

// Site is a call in a script of a function that has a [Direct]. What is known of it when the script is compiled may
// choose the Direct.
type Site struct {
	First  value.Value // the first argument if it is a constant, or nil
	Unused bool        // nobody reads the result
}

// directs are the makers of Directs, and unaries the functions of one argument, by the names of the builtins.
var (
	directs map[string]func(s Site) Direct
	unaries map[string]Unary
)

// builtin is the name of a builtin that an expression always is, or "".
func (c *compiler) builtin(e syntax.Expr) string {
	switch e := e.(type) {
	case *syntax.Builtin:
		return e.Name
	case *syntax.Variable:
		return c.aliases[e.Local]
	}
	return ""
}

// isDirect reports whether an expression is a call of a builtin by its Direct or its Unary. It has one value then.
func (c *compiler) isDirect(e syntax.Expr) bool {
	call, is := e.(*syntax.Call)
	if !is || call.Method != "" {
		return false
	}
	name := c.builtin(call.Func)
	return directs[name] != nil || unaries[name] != nil && len(call.Args) == 1 && !hasMany(call.Args[0])
}

// direct is such a call.
func (c *compiler) direct(e *syntax.Call, unused bool) eval {
	name := c.builtin(e.Func)
	if unary := unaries[name]; unary != nil {
		return c.unaryCall(e, unary, Builtins[name])
	}
	site := Site{Unused: unused}
	if len(e.Args) > 0 {
		if first, is := e.Args[0].(*syntax.Constant); is {
			site.First = first.Value
		}
	}
	d := &directCall{c.list(e.Args), Builtins[name], directs[name](site), e.Node}
	return func(fr *frame) value.Value {
		L := fr.L
		mark := len(L.stack)
		d.push(fr)
		fr.at = d.node
		if L.depth < maxCalls {
			if v, done := d.call(L, L.stack[mark:]); done {
				L.stack = L.stack[:mark]
				return v
			}
		}
		return L.call1(d.function, mark)
	}
}

// directCall is what the closure of such a call needs, in one place that is found again after each part.
type directCall struct {
	push     evals // of the arguments
	function value.Value
	call     Direct
	node     int
}

func (c *compiler) unaryCall(e *syntax.Call, unary Unary, function value.Value) eval {
	arg := c.operand(e.Args[0])
	return func(fr *frame) value.Value {
		L, v := fr.L, arg.get(fr)
		fr.at = e.Node
		if L.depth < maxCalls {
			if result, done := unary(L, v); done {
				return result
			}
		}
		mark := len(L.stack)
		L.Push(v)
		return L.call1(function, mark)
	}
}

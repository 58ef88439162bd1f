package syntax

import "github.com/stintdb/stint/engine/script/value"

// exprKind says how an expression may be used.
type exprKind int

const (
	valueExpr exprKind = iota
	constantExpr
	localExpr
	globalExpr
	indexExpr
	callExpr
	varargExpr
)

// expr is an expression: its tree, and properties that decide how it is used.
type expr struct {
	tree   Expr
	kind   exprKind
	number bool    // a number always
	some   bool    // never nil
	known  Operand // the name in error messages
	value  *Local  // of a localExpr
	text   string  // of a constant that is a string, and the name of a global
	string bool    // a constant that is a string
	object Expr
	key    Expr
	id     int // of the node of an indexExpr, or of a global that is missing
}

// single returns the tree for one value.
func (e expr) single() Expr {
	switch tree := e.tree.(type) {
	case *Call:
		tree.IsSingle = true
	case *Varargs:
		tree.IsSingle = true
	}
	return e.tree
}

func (p *parser) expression() expr { return p.operation(0) }

func (p *parser) expressions() (list []expr) {
	for {
		e := p.expression()
		list = append(list, e)
		if !p.accept(",") {
			return list
		}
		p.read(e)
	}
}

// priorities of binary operators: left and right.
var priorities = map[string][2]int{"+": {6, 6}, "-": {6, 6}, "*": {7, 7}, "/": {7, 7}, "%": {7, 7}, "^": {10, 9}, "..": {5, 4},
	"~=": {3, 3}, "==": {3, 3}, "<": {3, 3}, "<=": {3, 3}, ">": {3, 3}, ">=": {3, 3}, "and": {2, 2}, "or": {1, 1}}

const unaryPriority = 8

// operation reads operands as long as their operators bind tighter than the limit.
func (p *parser) operation(limit int) expr {
	p.enter()
	defer func() { p.depth-- }()
	p.weight++
	var left expr
	if op := p.mark(); op == "-" || op == "not" || op == "#" {
		p.advance()
		left = p.unary(op, p.operation(unaryPriority))
	} else {
		left = p.simple()
	}
	for n := 0; ; n++ {
		p.pay(n / searchedPerStep)
		op := p.mark()
		priority, known := priorities[op]
		if !known || priority[0] <= limit {
			return left
		}
		p.advance()
		p.read(left)
		if op == ".." {
			left = p.concat(left, priority[1])
			continue
		}
		left = p.binary(op, left, p.operation(priority[1]))
	}
}

// concat reads a whole chain of "..", which becomes one call. It associates to the right.
func (p *parser) concat(first expr, priority int) expr {
	parts := []expr{first}
	for {
		e := p.operation(priority + 1)
		parts = append(parts, e)
		if p.mark() != ".." {
			break
		}
		p.advance()
		p.read(e)
	}
	n := Node{Line: p.lastLine}
	var args []Expr
	for _, e := range parts {
		n.Operands = append(n.Operands, e.known)
		args = append(args, e.single())
	}
	p.weight += 2
	return expr{tree: &Concat{args, p.node(n)}, some: false}
}

func (p *parser) simple() expr {
	t := p.token
	switch t.kind {
	case tokenNumber:
		p.constant(t.text)
		return p.constantTree(value.Number(t.number))
	case tokenString:
		p.constant(t.text)
		p.advance()
		return stringConstant(t.value)
	}
	switch p.mark() {
	case "...":
		if !p.function.vararg && p.function.parent != nil {
			p.unexpected("cannot use '...' outside a vararg function")
		}
		p.advance()
		p.function.dots = true
		none := p.function.parent == nil && !p.chunk.Loaded // the script itself has no arguments
		return expr{tree: &Varargs{None: none}, kind: varargExpr}
	case "{":
		return p.table()
	case "nil":
		return p.constantTree(value.Nil)
	case "true":
		return p.constantTree(value.True)
	case "false":
		return p.constantTree(value.False)
	case "function":
		p.advance()
		return p.functionBody(false, t.line)
	}
	return p.suffixed()
}

// constantTree is the current token as a constant.
func (p *parser) constantTree(v value.Value) expr {
	p.advance()
	return expr{tree: &Constant{v}, kind: constantExpr, number: v.IsNumber(), some: !v.IsNil()}
}

func stringConstant(s string) expr {
	return expr{tree: &Constant{value.String(s)}, kind: constantExpr, some: true, text: s, string: true}
}

// suffixed reads a variable, or an expression in parentheses, with its fields, indexes and calls.
func (p *parser) suffixed() (e expr) {
	line := p.token.line
	switch {
	case p.accept("("):
		e = p.expression()
		p.closing(")", "(", line)
		p.read(e)
		e = expr{tree: e.single(), kind: valueExpr, number: e.number, some: e.some, known: e.known}
	case p.token.kind == tokenName:
		e = p.variable(p.name())
	default:
		p.unexpected("unexpected symbol")
	}
	for n := 0; ; n++ {
		p.pay(n / searchedPerStep)
		switch {
		case p.accept("."):
			e = p.field(e, p.name())
		case p.accept("["):
			key := p.expression()
			p.expect("]")
			e = p.index(e, key)
		case p.accept(":"):
			name := p.name()
			p.constant(name)
			e = p.call(e, name)
		case p.token.is("("), p.token.is("{"), p.token.kind == tokenString:
			e = p.call(e, "")
		default:
			return e
		}
	}
}

// arguments reads the arguments of a call.
func (p *parser) arguments() (list []expr) {
	line := p.token.line
	switch {
	case p.token.kind == tokenString:
		p.constant(p.token.text)
		list = []expr{stringConstant(p.token.value)}
		p.advance()
	case p.token.is("{"):
		list = []expr{p.table()}
	case p.token.is("("):
		if line != p.lastLine {
			p.unexpected("ambiguous syntax (function call x new statement)")
		}
		p.advance()
		if !p.token.is(")") {
			list = p.expressions()
		}
		p.closing(")", "(", line)
		if len(list) > 0 {
			p.read(list[len(list)-1])
		}
	default:
		p.unexpected("function arguments expected")
	}
	return list
}

func (p *parser) call(f expr, method string) expr {
	line := p.token.line
	args := p.values(p.arguments(), false)
	p.weight += 4
	n := Node{Line: line, Function: f.known}
	if method != "" {
		n.Operands, n.Function = []Operand{f.known}, Operand{"method", method}
	}
	call := &Call{Func: f.single(), Method: method, Args: args, Node: p.node(n)}
	return expr{tree: call, kind: callExpr}
}

// functionBody reads the parameters and the statements of a function.
func (p *parser) functionBody(method bool, line int) expr {
	p.pay(compileFunction)
	f := &function{parent: p.function, line: line, blocks: [][]*Local{nil}}
	p.function = f
	defer func() { p.function = f.parent }()
	tree := &Function{}
	parameter := func(name string) { tree.Parameters = append(tree.Parameters, p.declare(name)) }
	if method {
		parameter("self")
	}
	p.expect("(")
	for !p.token.is(")") {
		if p.accept("...") {
			f.vararg, tree.IsVariadic = true, true
			tree.Arg = p.declare("arg")
			break
		}
		if p.token.kind != tokenName {
			p.unexpected("<name> or '...' expected")
		}
		parameter(p.name())
		if !p.accept(",") {
			break
		}
		if p.token.is(")") {
			p.unexpected("<name> or '...' expected")
		}
	}
	p.expect(")")
	tree.Body = p.weighed(p.block)
	p.closing("end", "function", line)
	p.weight += 20
	tree.Slots, tree.UsesDots = f.slots, f.dots
	return expr{tree: tree, some: true}
}

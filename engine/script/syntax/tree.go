package syntax

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// The tree that gopher-lua compiles differs from the source in these ways:
//
//   - The line of each part is the number of a node of the chunk, which has the true line and the names of the operands,
//     for error messages.
//   - Locals have unique names. Global functions of the libraries are locals around the chunk, "(redis.call)".
//   - Operations become calls of helpers ("(concat)") where gopher-lua does them otherwise than Redis, or where one
//     instruction could take long: long strings, sparse arrays, deletions.
//   - Loops and functions begin with a charge on the budget.

// builder makes the trees, whose parts the parser has read.
type builder struct {
	scopes
	chunk  *Chunk
	known  func(builtin string) bool
	weight int // steps of the block being read
}

// node adds a place, and returns its number.
func (p *builder) node(n Node) int {
	p.chunk.nodes = append(p.chunk.nodes, n)
	return len(p.chunk.nodes)
}

// helper calls a function of ours.
func (p *builder) helper(name string, id int, args ...ast.Expr) *ast.FuncCallExpr {
	call := &ast.FuncCallExpr{Func: p.builtin(name), Args: args}
	call.SetLine(id)
	return call
}

// builtin refers to a value of the libraries, by its name in parentheses.
func (p *builder) builtin(name string) ast.Expr {
	if !p.known(name) {
		panic("script: no helper " + name)
	}
	p.chunk.uses(name)
	return &ast.IdentExpr{Value: name}
}

func (p *builder) charge(line, steps int) ast.Stmt {
	return &ast.FuncCallStmt{Expr: p.helper("(charge)", p.node(Node{Line: line}), numberTree(float64(steps)))}
}

func numberTree(x float64) ast.Expr {
	return &ast.NumberExpr{Value: strconv.FormatFloat(x, 'g', 17, 64)}
}

// values are the trees of a list, of which only the last may have several values. With guarded, the number of those is
// charged.
func (p *builder) values(list []expr, guarded bool) (trees []ast.Expr) {
	for i, e := range list {
		switch {
		case i < len(list)-1:
			trees = append(trees, e.single())
		case guarded && e.kind == callExpr:
			trees = append(trees, p.helper("(varargs)", 0, e.tree))
		default:
			trees = append(trees, e.tree)
		}
	}
	return trees
}

// variable is a name on its own.
func (p *builder) variable(name string) expr {
	if v := p.find(name); v != nil {
		known := Operand{"local", name}
		if v.of != p.function {
			known.Kind = "upvalue"
		}
		return expr{tree: &ast.IdentExpr{Value: v.inTree}, kind: localExpr, number: v.number, some: v.number, known: known, value: v}
	}
	e := expr{kind: globalExpr, known: Operand{"global", name}, text: name}
	if name == "KEYS" || name == "ARGV" {
		if p.chunk.Loaded {
			p.chunk.uses("(" + name + ")")
		}
		e.tree = &ast.IdentExpr{Value: "(" + name + ")"}
	} else if builtin := "(" + name + ")"; p.known(builtin) {
		e.tree = p.builtin(builtin)
	} else {
		p.constant(name)
		e.tree = p.helper("(global)", p.node(Node{Line: p.lastLine}), &ast.StringExpr{Value: name})
	}
	return e
}

// field is object.name.
func (p *builder) field(object expr, name string) expr {
	p.constant(name)
	if object.kind == globalExpr {
		if inner := "(" + object.text + "." + name + ")"; p.known(inner) {
			e := p.index(object, stringConstant(name))
			e.tree = p.builtin(inner)
			return e
		}
	}
	return p.index(object, stringConstant(name))
}

func (p *builder) index(object, key expr) expr {
	n := Node{Line: p.lastLine, Operands: []Operand{object.known}}
	e := expr{kind: indexExpr, known: Operand{"field", "?"}, object: object.single(), key: key.single(), id: p.node(n)}
	if key.string {
		e.known.Name = key.text
	}
	p.weight += 2 + len(key.text)/BytesPerStep
	if key.kind == constantExpr || key.number {
		get := &ast.AttrGetExpr{Object: e.object, Key: e.key}
		get.SetLine(e.id)
		e.tree = get
	} else {
		e.tree = p.helper("(get)", e.id, e.object, e.key)
	}
	return e
}

// assign is one assignment. The trees of an indexExpr are used here, in place of the one that reads.
func (p *builder) assign(target, value expr) ast.Stmt {
	switch target.kind {
	case localExpr:
		p.assigned(target)
		return p.assignLocal(target.tree, value)
	case globalExpr:
		return &ast.FuncCallStmt{Expr: p.helper("(set global)", p.node(Node{Line: p.lastLine}), value.single())}
	}
	value.tree = value.single()
	p.weight += 6 + len(target.known.Name)/BytesPerStep
	if key, constant := target.key.(*ast.StringExpr); constant && value.some {
		get := &ast.AttrGetExpr{Object: target.object, Key: key}
		get.SetLine(target.id)
		return &ast.AssignStmt{Lhs: []ast.Expr{get}, Rhs: []ast.Expr{value.tree}}
	}
	return &ast.FuncCallStmt{Expr: p.helper("(set)", target.id, target.object, target.key, value.tree)}
}

// assignLocal sets a local. The interpreter computes some values in the local's own register, and so reads the local
// too late: those go through another one.
func (p *builder) assignLocal(target ast.Expr, value expr) ast.Stmt {
	direct := true
	switch tree := value.tree.(type) {
	case *ast.LogicalOpExpr:
		direct = false
	case *ast.FuncCallExpr:
		direct = !tree.AdjustRet
	}
	if direct {
		return &ast.AssignStmt{Lhs: []ast.Expr{target}, Rhs: []ast.Expr{value.tree}}
	}
	name := p.temporary()
	return &ast.DoBlockStmt{Stmts: []ast.Stmt{
		&ast.LocalAssignStmt{Names: []string{name}, Exprs: []ast.Expr{value.tree}},
		&ast.AssignStmt{Lhs: []ast.Expr{target}, Rhs: []ast.Expr{&ast.IdentExpr{Value: name}}},
	}}
}

func (p *builder) unary(op string, e expr) expr {
	id := p.node(Node{Line: p.lastLine, Operands: []Operand{e.known}})
	switch op {
	case "not":
		return expr{tree: &ast.UnaryNotOpExpr{Expr: e.single()}, some: true}
	case "#":
		tree := &ast.UnaryLenOpExpr{Expr: e.single()}
		tree.SetLine(id)
		return expr{tree: tree}
	}
	tree := &ast.UnaryMinusOpExpr{Expr: e.single()}
	tree.SetLine(id)
	return expr{tree: tree, number: e.number, some: e.number}
}

// helpers carry out operators on values that may be anything.
var helpers = map[string]string{"%": "(mod)", "^": "(pow)", "<": "(<)", "<=": "(<=)", ">": "(>)", ">=": "(>=)", "==": "(==)", "~=": "(~=)"}

func (p *builder) binary(op string, left, right expr) expr {
	a, b := left.single(), right.single()
	if op == "and" || op == "or" {
		return expr{tree: &ast.LogicalOpExpr{Operator: op, Lhs: a, Rhs: b}, some: op == "or" && right.some}
	}
	n := Node{Line: p.lastLine, Operands: []Operand{left.known, right.known}}
	number := left.number && right.number
	switch op {
	case "+", "-", "*", "/":
		tree := &ast.ArithmeticOpExpr{Operator: op, Lhs: a, Rhs: b}
		tree.SetLine(p.node(n))
		return expr{tree: tree, number: number, some: number}
	case "%", "^":
		p.weight++
		return expr{tree: p.helper(helpers[op], p.node(n), a, b), number: number, some: number}
	case "==", "~=":
		if left.kind == constantExpr || right.kind == constantExpr || left.number || right.number {
			p.weight += (len(left.text) + len(right.text)) / BytesPerStep
			break
		}
		return expr{tree: p.helper(helpers[op], p.node(n), a, b), some: true}
	default:
		if left.number || right.number {
			break
		}
		return expr{tree: p.helper(helpers[op], p.node(n), a, b), some: true}
	}
	tree := &ast.RelationalOpExpr{Operator: op, Lhs: a, Rhs: b}
	tree.SetLine(p.node(n))
	return expr{tree: tree, some: true}
}

// ignoreResult makes a call of a command build no result, as most calls that write need none.
func (p *builder) ignoreResult(tree ast.Expr) {
	call, is := tree.(*ast.FuncCallExpr)
	if !is {
		return
	}
	switch f, _ := call.Func.(*ast.IdentExpr); {
	case f == nil:
	case f.Value == "(redis.call)":
		call.Func = p.builtin("(run)")
	case f.Value == "(redis.pcall)":
		call.Func = p.builtin("(prun)")
	}
}

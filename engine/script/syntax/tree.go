package syntax

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

// values are the trees of a list, of which only the last may have several values. With guarded, the number of those is charged.
func (p *builder) values(list []expr, guarded bool) (trees []Expr) {
	for i, e := range list {
		switch {
		case i < len(list)-1:
			trees = append(trees, e.single())
		case guarded && e.kind == callExpr:
			trees = append(trees, &Counted{e.tree})
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
			v.Captured = true
		}
		return expr{tree: &Variable{v}, kind: localExpr, number: v.number, some: v.number, known: known, value: v}
	}
	e := expr{kind: globalExpr, known: Operand{"global", name}, text: name}
	if name == "KEYS" || name == "ARGV" {
		e.tree = &Arguments{IsArgv: name == "ARGV"}
	} else if builtin := "(" + name + ")"; p.known(builtin) {
		e.tree = &Builtin{builtin}
	} else {
		p.constant(name)
		e.id = p.node(Node{Line: p.lastLine})
		e.tree = &Missing{name, e.id}
	}
	return e
}

// field is object.name.
func (p *builder) field(object expr, name string) expr {
	p.constant(name)
	if object.kind == globalExpr {
		if inner := "(" + object.text + "." + name + ")"; p.known(inner) {
			e := p.index(object, stringConstant(name))
			e.tree = &Builtin{inner}
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
	e.tree = &Index{Object: e.object, Key: e.key, Node: e.id, Charged: key.kind != constantExpr && !key.number}
	return e
}

// read notes that a field or a global gets its value after the last token, such as the comma behind it. An error names
// that token's line.
func (p *builder) read(e expr) {
	if e.id > 0 {
		p.chunk.nodes[e.id-1].Line = p.lastLine
	}
}

// assign is one assignment, on a line. The trees of an indexExpr are used here, in place of the one that reads.
func (p *builder) assign(target, value expr, line int) Stmt {
	switch target.kind {
	case localExpr:
		p.assigned(target)
		return &Assign{Target: target.tree, Value: value.single()}
	case globalExpr:
		return &SetGlobal{Value: value.single(), Node: p.node(Node{Line: line})}
	}
	p.weight += 6 + len(target.known.Name)/BytesPerStep
	p.chunk.nodes[target.id-1].Line = line
	key, _ := target.key.(*Constant)
	return &Assign{
		Target: &Index{Object: target.object, Key: target.key, Node: target.id},
		Value:  value.single(), IsPlain: key != nil && key.Value.IsString() && value.some,
	}
}

func (p *builder) unary(op string, e expr) expr {
	tree := &Unary{Op: op, Of: e.single(), Node: p.node(Node{Line: p.lastLine, Operands: []Operand{e.known}})}
	switch op {
	case "not":
		return expr{tree: tree, some: true}
	case "#":
		return expr{tree: tree}
	}
	return expr{tree: tree, number: e.number, some: e.number}
}

func (p *builder) binary(op string, left, right expr) expr {
	a, b := left.single(), right.single()
	if op == "and" || op == "or" {
		e := expr{tree: &Logical{IsAnd: op == "and", Left: a, Right: b}, some: op == "or" && right.some}
		if truth, is := constantTruth(a); is && truth == (op == "and") {
			e.known = right.known // Lua leaves the constant out
		}
		return e
	}
	tree := &Binary{Op: op, Left: a, Right: b}
	number := left.number && right.number
	switch op {
	case "+", "-", "*", "/":
	case "%", "^":
		p.weight++
	case "==", "~=":
		if tree.IsPlain = left.kind == constantExpr || right.kind == constantExpr || left.number || right.number; tree.IsPlain {
			p.weight += (len(left.text) + len(right.text)) / BytesPerStep
		}
		number = false
	default:
		tree.IsPlain = left.number || right.number
		number = false
	}
	tree.Node = p.node(Node{Line: p.lastLine, Operands: []Operand{left.known, right.known}})
	return expr{tree: tree, number: number, some: number || isComparison(op)}
}

// constantTruth returns whether a constant is true as a condition. is is false for other expressions.
func constantTruth(e Expr) (truth, is bool) {
	if c, is := e.(*Constant); is {
		return c.Value.IsTrue(), true
	}
	return true, IsNumeral(e)
}

// IsNumeral reports whether an expression is made of numbers in the source alone.
func IsNumeral(e Expr) bool {
	switch e := e.(type) {
	case *Constant:
		return e.Value.IsNumber()
	case *Unary:
		return e.Op == "-" && IsNumeral(e.Of)
	case *Binary:
		return !isComparison(e.Op) && IsNumeral(e.Left) && IsNumeral(e.Right)
	}
	return false
}

func isComparison(op string) bool {
	return op[0] == '<' || op[0] == '>' || op[0] == '=' || op[0] == '~'
}

// Package syntax reads the text of a script into a tree.
//
// The lexer cuts the text into tokens. The parser reads them by the grammar of Lua 5.1; scopes tells it which local a name is, and
// builder makes the trees. It knows which helpers and functions there are by their names alone.
package syntax

// parser reads Lua 5.1 by recursive descent, in the order of the reference implementation, so that it finds the same
// mistake at the same token. It builds the tree of nodes.go.
type parser struct {
	builder
	depth   int
	elseifs int // of the chain that is being read
}

// maxDepth is the deepest nesting of blocks and expressions.
const maxDepth = 200

// Parse returns the body of the source as a function of KEYS and ARGV, and fills the chunk. The body refers to each builtin that is
// known as a variable around it. Its weight, in steps, is not part of it. left is the rest of the budget for compiling.
func Parse(c *Chunk, source string, known func(builtin string) bool, budget int) (body *Function, weight, left int, err error) {
	left = budget
	var p *parser
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(Error)
			if !ok {
				panic(r)
			}
			left, err = p.budget, failed
		}
	}()
	written := map[int]bool{}
	for {
		c.nodes = nil
		p = &parser{}
		p.lexer = lexer{source: source, display: ChunkName(c.Source, parsingRoom), line: 1, budget: left}
		p.function, p.written = &function{blocks: [][]*Local{nil}, vararg: c.Loaded}, written
		p.chunk, p.known = c, known
		p.pay(len(source) / BytesPerStep)
		p.advance()
		statements := p.block()
		left = p.budget
		if p.token.kind != tokenEnd {
			p.unexpected("'<eof>' expected")
		}
		if !p.again {
			return &Function{IsVariadic: c.Loaded, Slots: p.function.slots, Body: statements}, p.weight, left, nil
		}
	}
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail("chunk has too many syntax levels", "")
	}
}

// scope reads statements in a scope of their own.
func (p *parser) scope() []Stmt {
	p.open()
	defer p.close()
	return p.block()
}

// block reads statements up to a word that ends a block.
func (p *parser) block() (statements []Stmt) {
	p.enter()
	defer func() { p.depth-- }()
	for {
		if p.endsBlock() {
			return statements
		}
		last := p.token.is("return") || p.token.is("break")
		p.weight++
		statements = append(statements, p.statement()...)
		p.accept(";")
		if last {
			return statements
		}
	}
}

// endsBlock reports whether the statements of a block end before the current token.
func (p *parser) endsBlock() bool {
	return p.token.kind == tokenEnd || p.token.is("end") || p.token.is("else") || p.token.is("elseif") || p.token.is("until")
}

// weighed reads with the steps counted apart, and puts their charge in front.
func (p *parser) weighed(read func() []Stmt) []Stmt {
	outer, line := p.weight, p.token.line
	p.weight = 3 // the charge itself
	statements := read()
	charge := &Charge{p.weight, p.node(Node{Line: line})}
	p.weight = outer + 1
	return append([]Stmt{charge}, statements...)
}

func (p *parser) statement() []Stmt {
	line := p.token.line
	switch p.mark() {
	case "if":
		return []Stmt{p.ifStatement(line)}
	case "while":
		return []Stmt{p.whileStatement(line)}
	case "do":
		p.advance()
		body := p.scope()
		p.closing("end", "do", line)
		return []Stmt{&Block{body}}
	case "for":
		return p.forStatement(line)
	case "repeat":
		return []Stmt{p.repeatStatement(line)}
	case "function":
		return p.functionStatement(line)
	case "local":
		p.advance()
		if p.accept("function") {
			return p.localFunction()
		}
		return p.localStatement()
	case "return":
		return []Stmt{p.returnStatement()}
	case "break":
		p.advance()
		if p.function.inLoops == 0 {
			p.unexpected("no loop to break")
		}
		return []Stmt{&Break{}}
	}
	return p.expressionStatement()
}

package script

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// parser reads Lua 5.1 by recursive descent, in the order of the reference implementation, so that it finds the same
// mistake at the same token. It builds the syntax tree of gopher-lua, with the changes that tree.go describes.
type parser struct {
	lexer
	chunk    *chunk
	token    token
	ahead    token // kind 0: none
	lastLine int   // of the token before
	depth    int
	elseifs  int // of the chain that is being read
	weight   int // steps of the block being read
	locals   int // number of all locals, which gives them names in the tree
	function *function
	written  map[int]bool // loop variables, by position, that the source assigns to
	again    bool         // written grew: read the source once more
}

// function is a function being read.
type function struct {
	parent *function
	blocks [][]*local
	vararg bool
	count  int // of locals in use

	constants map[string]struct{} // of which gopher-lua searches a list for each use
	inLoops   int
}

// local is a local variable.
type local struct {
	name   string
	inTree string // unique
	number bool   // holds a number always
	at     int    // position in the source
	of     *function
}

const (
	maxDepth  = 200
	maxLocals = 150 // leaves registers to the interpreter
)

// parse returns the body of the source as a function of KEYS and ARGV. Its weight is not part of the body. left is the rest of
// the budget for compiling.
func parse(c *chunk, source string, budget int) (body *ast.FunctionExpr, weight, left int, err error) {
	left = budget
	var p *parser
	defer func() {
		if r := recover(); r != nil {
			failed, ok := r.(syntaxError)
			if !ok {
				panic(r)
			}
			left, err = p.budget, scriptError(failed)
		}
	}()
	written := map[int]bool{}
	for {
		c.nodes = nil
		p = &parser{lexer: lexer{source: source, chunk: c.display, line: 1, budget: left}, chunk: c, written: written}
		p.function = &function{blocks: [][]*local{nil}, vararg: c.loaded}
		p.pay(len(source) / bytesPerStep)
		p.advance()
		statements := p.block()
		left = p.budget
		if p.token.kind != tokenEnd {
			p.unexpected("'<eof>' expected")
		}
		if !p.again {
			parameters := &ast.ParList{Names: []string{"(KEYS)", "(ARGV)"}}
			if c.loaded {
				parameters = &ast.ParList{HasVargs: true}
			}
			return &ast.FunctionExpr{ParList: parameters, Stmts: statements}, p.weight, left, nil
		}
	}
}

func (p *parser) advance() {
	p.lastLine = p.token.line
	if p.ahead.kind != 0 {
		p.token, p.ahead = p.ahead, token{}
		return
	}
	p.pay(compileToken)
	p.token = p.next()
}

// unexpected ends the parsing at the current token.
func (p *parser) unexpected(message string) {
	line := p.line
	p.line = p.token.line
	defer func() { p.line = line }()
	p.fail(message, p.token.text)
}

func (p *parser) accept(kind int) bool {
	if p.token.kind == kind {
		p.advance()
		return true
	}
	return false
}

func (p *parser) acceptKeyword(word string) bool {
	if p.token.is(word) {
		p.advance()
		return true
	}
	return false
}

func (p *parser) expect(kind int, text string) {
	if !p.accept(kind) {
		p.unexpected("'" + text + "' expected")
	}
}

func (p *parser) expectKeyword(word string) {
	if !p.acceptKeyword(word) {
		p.unexpected("'" + word + "' expected")
	}
}

// closing expects the keyword that ends what another began at a line.
func (p *parser) closing(word, opener string, line int) {
	if !p.token.is(word) {
		if line == p.token.line {
			p.unexpected("'" + word + "' expected")
		}
		p.unexpected("'" + word + "' expected (to close '" + opener + "' at line " + strconv.Itoa(line) + ")")
	}
	p.advance()
}

func (p *parser) closingByte(end, opener byte, line int) {
	if p.token.kind != int(end) {
		if line == p.token.line {
			p.unexpected("'" + string(end) + "' expected")
		}
		p.unexpected("'" + string(end) + "' expected (to close '" + string(opener) + "' at line " + strconv.Itoa(line) + ")")
	}
	p.advance()
}

func (p *parser) name() string {
	if p.token.kind != tokenName {
		p.unexpected("'<name>' expected")
	}
	name := p.token.text
	p.advance()
	return name
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail("chunk has too many syntax levels", "")
	}
}

// scope reads statements in a scope of their own.
func (p *parser) scope() []ast.Stmt {
	p.open()
	defer p.close()
	return p.block()
}

func (p *parser) open() { p.function.blocks = append(p.function.blocks, nil) }

func (p *parser) close() {
	f := p.function
	last := len(f.blocks) - 1
	f.count -= len(f.blocks[last])
	f.blocks = f.blocks[:last]
}

// declare adds a local to the innermost scope.
func (p *parser) declare(name string) *local {
	f := p.function
	p.locals++
	v := &local{name: name, inTree: name + "#" + strconv.Itoa(p.locals), at: p.at, of: f}
	f.blocks[len(f.blocks)-1] = append(f.blocks[len(f.blocks)-1], v)
	if f.count++; f.count > maxLocals {
		p.unexpected("too many local variables (limit is " + strconv.Itoa(maxLocals) + ")")
	}
	return v
}

// find returns the local of a name, or nil: it is a global.
func (p *parser) find(name string) *local {
	for f := p.function; f != nil; f = f.parent {
		for b := len(f.blocks) - 1; b >= 0; b-- {
			p.pay(2 * len(f.blocks[b]) / searchedPerStep) // gopher-lua looks for it as well
			for i := len(f.blocks[b]) - 1; i >= 0; i-- {
				if v := f.blocks[b][i]; v.name == name {
					return v
				}
			}
		}
	}
	return nil
}

// constant notes a constant of the function that is being read.
func (p *parser) constant(text string) {
	f := p.function
	if f.constants == nil {
		f.constants = map[string]struct{}{}
	}
	f.constants[text] = struct{}{}
	p.pay(len(f.constants) / searchedPerStep)
}

// block reads statements up to a word that ends a block.
func (p *parser) block() (statements []ast.Stmt) {
	p.enter()
	defer func() { p.depth-- }()
	for {
		switch {
		case p.token.kind == tokenEnd, p.token.is("end"), p.token.is("else"), p.token.is("elseif"), p.token.is("until"):
			return statements
		}
		last := p.token.is("return") || p.token.is("break")
		p.weight++
		statements = append(statements, p.statement()...)
		p.accept(';')
		if last {
			return statements
		}
	}
}

// weighed reads with the steps counted apart, and puts their charge in front.
func (p *parser) weighed(read func() []ast.Stmt) []ast.Stmt {
	outer, line := p.weight, p.token.line
	p.weight = 3 // the charge itself
	statements := read()
	charge := p.charge(line, p.weight)
	p.weight = outer + 1
	return append([]ast.Stmt{charge}, statements...)
}

func (p *parser) statement() []ast.Stmt {
	line := p.token.line
	if p.token.kind == tokenKeyword {
		switch p.token.text {
		case "if":
			return []ast.Stmt{p.ifStatement(line)}
		case "while":
			return []ast.Stmt{p.whileStatement(line)}
		case "do":
			p.advance()
			body := p.scope()
			p.closing("end", "do", line)
			return []ast.Stmt{&ast.DoBlockStmt{Stmts: body}}
		case "for":
			return p.forStatement(line)
		case "repeat":
			return []ast.Stmt{p.repeatStatement(line)}
		case "function":
			return p.functionStatement(line)
		case "local":
			p.advance()
			if p.acceptKeyword("function") {
				return p.localFunction()
			}
			return p.localStatement()
		case "return":
			return []ast.Stmt{p.returnStatement()}
		case "break":
			p.advance()
			if p.function.inLoops == 0 {
				p.unexpected("no loop to break")
			}
			return []ast.Stmt{&ast.BreakStmt{}}
		}
	}
	return p.expressionStatement()
}

package syntax

import "strconv"

// tokens are the words of the source in their order, of which the parser sees one, or two.
type tokens struct {
	lexer
	token    token
	ahead    token // kind 0: none
	lastLine int   // of the token before
}

func (p *tokens) advance() {
	p.lastLine = p.token.line
	if p.ahead.kind != 0 {
		p.token, p.ahead = p.ahead, token{}
		return
	}
	p.pay(compileToken)
	p.token = p.next()
}

// unexpected ends the parsing at the current token.
func (p *tokens) unexpected(message string) {
	line := p.line
	p.line = p.token.line
	defer func() { p.line = line }()
	p.fail(message, p.token.text)
}

func (p *tokens) accept(mark string) bool {
	if p.token.is(mark) {
		p.advance()
		return true
	}
	return false
}

func (p *tokens) expect(mark string) {
	if !p.accept(mark) {
		p.unexpected("'" + mark + "' expected")
	}
}

// closing expects the mark that ends what another began at a line.
func (p *tokens) closing(mark, opener string, line int) {
	if line != p.token.line && !p.token.is(mark) {
		p.unexpected("'" + mark + "' expected (to close '" + opener + "' at line " + strconv.Itoa(line) + ")")
	}
	p.expect(mark)
}

func (p *tokens) name() string {
	if p.token.kind != tokenName {
		p.unexpected("'<name>' expected")
	}
	name := p.token.text
	p.advance()
	return name
}

// mark is the current token, if it is a keyword or a symbol.
func (p *tokens) mark() string {
	if p.token.kind != tokenMark {
		return ""
	}
	return p.token.text
}

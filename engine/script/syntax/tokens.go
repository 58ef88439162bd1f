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

func (p *tokens) accept(kind int) bool {
	if p.token.kind == kind {
		p.advance()
		return true
	}
	return false
}

func (p *tokens) acceptKeyword(word string) bool {
	if p.token.is(word) {
		p.advance()
		return true
	}
	return false
}

func (p *tokens) expect(kind int, text string) {
	if !p.accept(kind) {
		p.unexpected("'" + text + "' expected")
	}
}

func (p *tokens) expectKeyword(word string) {
	if !p.acceptKeyword(word) {
		p.unexpected("'" + word + "' expected")
	}
}

// closing expects the keyword that ends what another began at a line.
func (p *tokens) closing(word, opener string, line int) {
	if !p.token.is(word) {
		if line == p.token.line {
			p.unexpected("'" + word + "' expected")
		}
		p.unexpected("'" + word + "' expected (to close '" + opener + "' at line " + strconv.Itoa(line) + ")")
	}
	p.advance()
}

func (p *tokens) closingByte(end, opener byte, line int) {
	if p.token.kind != int(end) {
		if line == p.token.line {
			p.unexpected("'" + string(end) + "' expected")
		}
		p.unexpected("'" + string(end) + "' expected (to close '" + string(opener) + "' at line " + strconv.Itoa(line) + ")")
	}
	p.advance()
}

func (p *tokens) name() string {
	if p.token.kind != tokenName {
		p.unexpected("'<name>' expected")
	}
	name := p.token.text
	p.advance()
	return name
}

func (p *tokens) operator() string {
	if k := p.token.kind; k == tokenName || k == tokenString || k == tokenNumber || k == tokenEnd {
		return ""
	}
	return p.token.text
}

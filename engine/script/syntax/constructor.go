package syntax

// table reads a constructor.
func (p *parser) table() expr {
	line := p.token.line
	p.expect('{', "{")
	p.weight += 40
	tree := &Table{}
	var value expr
	for p.token.kind != '}' {
		value.single() // only the last item may have several
		p.weight += 3
		key, named := p.fieldKey()
		value = p.expression()
		f := Field{Value: value.tree}
		if named {
			f.Key, f.Value = key.single(), value.single()
			if f.IsPlain = key.string; f.IsPlain {
				p.weight += len(key.text) / BytesPerStep
			} else {
				f.Node = p.node(Node{Line: p.lastLine})
			}
		}
		tree.Fields = append(tree.Fields, f)
		if !p.accept(',') && !p.accept(';') {
			break
		}
	}
	p.closingByte('}', '{', line)
	return expr{tree: tree, some: true}
}

// fieldKey reads "name =" or "[key] =".
func (p *parser) fieldKey() (expr, bool) {
	switch p.token.kind {
	case tokenName:
		if p.ahead.kind == 0 {
			p.ahead = p.next()
		}
		if p.ahead.kind != '=' {
			return expr{}, false
		}
		key := stringConstant(p.token.text)
		p.constant(p.token.text)
		p.advance()
		p.advance()
		return key, true
	case '[':
		p.advance()
		key := p.expression()
		p.expect(']', "]")
		p.expect('=', "=")
		return key, true
	}
	return expr{}, false
}

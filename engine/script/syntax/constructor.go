package syntax

// table reads a constructor.
func (p *parser) table() expr {
	line := p.token.line
	p.expect("{")
	p.weight += 40
	tree := &Table{}
	var value expr
	for !p.token.is("}") {
		value.single() // only the last item may have several
		p.read(value)
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
			value = expr{} // was read
		}
		tree.Fields = append(tree.Fields, f)
		if !p.accept(",") && !p.accept(";") {
			break
		}
	}
	p.closing("}", "{", line)
	p.read(value)
	return expr{tree: tree, some: true}
}

// fieldKey reads "name =" or "[key] =".
func (p *parser) fieldKey() (expr, bool) {
	switch {
	case p.token.kind == tokenName:
		if p.ahead.kind == 0 {
			p.ahead = p.next()
		}
		if !p.ahead.is("=") {
			return expr{}, false
		}
		key := stringConstant(p.token.text)
		p.constant(p.token.text)
		p.advance()
		p.advance()
		return key, true
	case p.accept("["):
		key := p.expression()
		p.expect("]")
		p.expect("=")
		return key, true
	}
	return expr{}, false
}

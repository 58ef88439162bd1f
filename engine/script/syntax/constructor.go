package syntax

import "slices"

// maxFields is the largest constructor that the interpreter builds itself.
const maxFields = 50

// table reads a constructor.
func (p *parser) table() expr {
	line := p.token.line
	p.expect('{', "{")
	p.weight += 40
	tree := &Table{}
	var items []expr
	var pairs []Expr // of keys that are not constant
	open := false    // the last item may have several values
	for p.token.kind != '}' {
		p.weight += 3
		key, named := p.fieldKey()
		value := p.expression()
		open = !named && (value.kind == callExpr || value.kind == varargExpr)
		switch {
		case !named:
			items = append(items, value)
			tree.Fields = append(tree.Fields, Field{Value: value.tree})
		case key.string:
			p.weight += len(key.text) / BytesPerStep
			tree.Fields = append(tree.Fields, Field{Key: key.tree.(*Constant), Value: value.single()})
		default:
			pairs = append(pairs, key.single(), value.single())
		}
		if !p.accept(',') && !p.accept(';') {
			break
		}
	}
	p.closingByte('}', '{', line)
	if open || len(items) > maxFields {
		tree.Fields = slices.DeleteFunc(tree.Fields, func(f Field) bool { return f.Key == nil })
	} else {
		for _, item := range items {
			item.single()
		}
		items = nil
	}
	tree.Node = p.node(Node{Line: p.lastLine})
	for start := 0; start < len(items); start += maxFields {
		end := min(start+maxFields, len(items))
		part := items[start:end]
		trees := p.values(part, false)
		if end < len(items) || !open {
			trees[len(trees)-1] = part[len(part)-1].single()
		}
		tree.Rest = append(tree.Rest, Items{start, trees})
	}
	tree.Pairs = slices.Collect(slices.Chunk(pairs, maxFields))
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

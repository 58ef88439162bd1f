package syntax

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// maxFields is the largest constructor that the interpreter builds itself.
const maxFields = 50

// table reads a constructor.
func (p *parser) table() expr {
	line := p.token.line
	p.expect('{', "{")
	p.weight += 40
	tree := &ast.TableExpr{}
	var items []expr
	var pairs []ast.Expr // of keys that are not constant
	open := false        // the last item may have several values
	for p.token.kind != '}' {
		p.weight += 3
		key, named := p.fieldKey()
		value := p.expression()
		open = !named && (value.kind == callExpr || value.kind == varargExpr)
		switch {
		case !named:
			items = append(items, value)
			tree.Fields = append(tree.Fields, &ast.Field{Value: value.tree})
		case key.string:
			p.weight += len(key.text) / BytesPerStep
			tree.Fields = append(tree.Fields, &ast.Field{Key: key.tree, Value: value.single()})
		default:
			pairs = append(pairs, key.single(), value.single())
		}
		if !p.accept(',') && !p.accept(';') {
			break
		}
	}
	p.closingByte('}', '{', line)
	if open || len(items) > maxFields {
		tree.Fields = slices.DeleteFunc(tree.Fields, func(f *ast.Field) bool { return f.Key == nil })
	} else {
		for _, item := range items {
			item.single()
		}
		items = nil
	}
	var built ast.Expr = tree
	if len(items) > 0 && len(tree.Fields) == 0 {
		built = &ast.NilExpr{} // the first call makes the table
	}
	id := p.node(Node{Line: p.lastLine})
	for start := 0; start < len(items); start += maxFields {
		end := min(start+maxFields, len(items))
		part := items[start:end]
		trees := p.values(part, false)
		if end < len(items) || !open {
			trees[len(trees)-1] = part[len(part)-1].single()
		}
		built = p.helper("(items)", id, append([]ast.Expr{built, numberTree(float64(start))}, trees...)...)
		built.(*ast.FuncCallExpr).AdjustRet = true
	}
	for start := 0; start < len(pairs); start += maxFields {
		part := pairs[start:min(start+maxFields, len(pairs))]
		built = p.helper("(fields)", id, append([]ast.Expr{built}, part...)...)
		built.(*ast.FuncCallExpr).AdjustRet = true
	}
	return expr{tree: built, some: true}
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

package syntax

import "github.com/yuin/gopher-lua/ast"

func (p *parser) ifStatement(line int) ast.Stmt {
	p.advance()
	statement := &ast.IfStmt{Condition: p.expression().tree}
	p.expectKeyword("then")
	statement.Then = p.scope()
	switch {
	case p.token.is("elseif"):
		// A chain of elseif is no deeper than one.
		p.elseifs++
		defer func() { p.elseifs-- }()
		p.pay(p.elseifs / searchedPerStep) // gopher-lua looks for the end of the chain from each
		statement.Else = []ast.Stmt{p.ifStatement(line)}
		return statement
	case p.acceptKeyword("else"):
		statement.Else = p.scope()
	}
	p.closing("end", "if", line)
	return statement
}

func (p *parser) loop(read func() []ast.Stmt) []ast.Stmt {
	p.function.inLoops++
	defer func() { p.function.inLoops-- }()
	return p.weighed(read)
}

func (p *parser) whileStatement(line int) ast.Stmt {
	p.advance()
	statement := &ast.WhileStmt{}
	statement.Stmts = p.loop(func() []ast.Stmt {
		statement.Condition = p.expression().tree
		p.expectKeyword("do")
		return p.scope()
	})
	p.closing("end", "while", line)
	return statement
}

func (p *parser) repeatStatement(line int) ast.Stmt {
	p.advance()
	statement := &ast.RepeatStmt{}
	statement.Stmts = p.loop(func() []ast.Stmt {
		p.open()
		defer p.close()
		body := p.block()
		p.closing("until", "repeat", line)
		statement.Condition = p.expression().tree
		return body
	})
	return statement
}

func (p *parser) forStatement(line int) []ast.Stmt {
	p.advance()
	at := p.at
	first := p.name()
	switch {
	case p.token.kind == '=':
		return p.numericFor(line, at, first)
	case p.token.kind == ',' || p.token.is("in"):
		return p.genericFor(line, first)
	}
	p.unexpected("'=' or 'in' expected")
	return nil
}

func (p *parser) numericFor(line, at int, name string) []ast.Stmt {
	p.advance()
	id := p.node(Node{Line: line})
	bound := func(helper string) ast.Expr {
		e := p.expression()
		if e.number {
			return e.tree
		}
		return p.helper(helper, id, e.single())
	}
	statement := &ast.NumberForStmt{Init: bound("(bound initial)")}
	p.expect(',', ",")
	statement.Limit = bound("(bound limit)")
	if p.accept(',') {
		statement.Step = bound("(bound step)")
	}
	statement.SetLine(id)
	p.expectKeyword("do")
	statement.Stmts = p.loop(func() []ast.Stmt {
		p.open()
		defer p.close()
		variable := p.declare(name)
		variable.at, variable.number = at, !p.written[at]
		statement.Name = variable.inTree
		return p.scope()
	})
	p.closing("end", "for", line)
	return []ast.Stmt{statement}
}

func (p *parser) genericFor(line int, first string) []ast.Stmt {
	names := []string{first}
	for p.accept(',') {
		names = append(names, p.name())
	}
	p.expectKeyword("in")
	statement := &ast.GenericForStmt{Exprs: p.values(p.expressions(), false)}
	statement.SetLine(p.node(Node{Line: line}))
	p.expectKeyword("do")
	statement.Stmts = p.loop(func() []ast.Stmt {
		p.open()
		defer p.close()
		for _, name := range names {
			statement.Names = append(statement.Names, p.declare(name).inTree)
		}
		return p.scope()
	})
	p.closing("end", "for", line)
	return []ast.Stmt{statement}
}

// functionStatement is "function a.b.c:m() end".
func (p *parser) functionStatement(line int) []ast.Stmt {
	p.advance()
	target := p.variable(p.name())
	method := false
	for !method && (p.token.kind == '.' || p.token.kind == ':') {
		method = p.token.kind == ':'
		p.advance()
		target = p.field(target, p.name())
	}
	return []ast.Stmt{p.assign(target, p.functionBody(method, line))}
}

func (p *parser) localFunction() []ast.Stmt {
	line := p.token.line
	variable := p.declare(p.name())
	body := p.functionBody(false, line)
	return []ast.Stmt{&ast.LocalAssignStmt{Names: []string{variable.inTree}, Exprs: []ast.Expr{body.tree}}}
}

func (p *parser) localStatement() []ast.Stmt {
	var names []string
	for {
		names = append(names, p.name())
		if !p.accept(',') {
			break
		}
	}
	statement := &ast.LocalAssignStmt{}
	if p.accept('=') {
		statement.Exprs = p.values(p.expressions(), false)
	}
	for _, name := range names {
		statement.Names = append(statement.Names, p.declare(name).inTree)
	}
	return []ast.Stmt{statement}
}

func (p *parser) returnStatement() ast.Stmt {
	p.advance()
	statement := &ast.ReturnStmt{}
	if p.token.kind == tokenEnd || p.token.kind == ';' || p.token.is("end") || p.token.is("else") || p.token.is("elseif") || p.token.is("until") {
		return statement
	}
	list := p.expressions()
	statement.Exprs = p.values(list, len(list) > 1)
	return statement
}

// expressionStatement is a call or an assignment.
func (p *parser) expressionStatement() []ast.Stmt {
	first := p.suffixed()
	if first.kind == callExpr {
		p.ignoreResult(first.tree)
		return []ast.Stmt{&ast.FuncCallStmt{Expr: first.tree}}
	}
	targets := []expr{first}
	for p.token.kind == ',' || p.token.kind == '=' {
		if last := targets[len(targets)-1]; last.kind != localExpr && last.kind != globalExpr && last.kind != indexExpr {
			p.unexpected("syntax error")
		}
		if p.accept('=') {
			return p.assignment(targets, p.expressions())
		}
		p.advance()
		p.pay(len(targets) / searchedPerStep)
		targets = append(targets, p.suffixed())
	}
	if len(targets) == 1 && first.kind != localExpr && first.kind != globalExpr && first.kind != indexExpr {
		p.unexpected("syntax error")
	}
	p.expect('=', "=")
	return nil
}

func (p *parser) assignment(targets, values []expr) []ast.Stmt {
	if len(targets) == 1 && len(values) == 1 {
		return []ast.Stmt{p.assign(targets[0], values[0])}
	}
	// The places come first, then the values, then the assignments from right to left.
	var before, after []ast.Stmt
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = p.temporary()
		if t.kind == indexExpr {
			object, key := p.temporary(), p.temporary()
			before = append(before, &ast.LocalAssignStmt{Names: []string{object, key}, Exprs: []ast.Expr{t.object, t.key}})
			t.object, t.key = &ast.IdentExpr{Value: object}, &ast.IdentExpr{Value: key}
		}
		after = append([]ast.Stmt{p.assign(t, expr{tree: &ast.IdentExpr{Value: names[i]}})}, after...)
	}
	middle := &ast.LocalAssignStmt{Names: names, Exprs: p.values(values, false)}
	return []ast.Stmt{&ast.DoBlockStmt{Stmts: append(append(before, middle), after...)}}
}

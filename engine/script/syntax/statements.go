package syntax

import "slices"

func (p *parser) ifStatement(line int) Stmt {
	p.advance()
	statement := &If{Condition: p.expression().tree}
	p.expect("then")
	statement.Then = p.scope()
	switch {
	case p.token.is("elseif"):
		// A chain of elseif is no deeper than one.
		p.elseifs++
		defer func() { p.elseifs-- }()
		p.pay(p.elseifs / searchedPerStep)
		statement.Else = []Stmt{p.ifStatement(line)}
		return statement
	case p.accept("else"):
		statement.Else = p.scope()
	}
	p.closing("end", "if", line)
	return statement
}

func (p *parser) loop(read func() []Stmt) []Stmt {
	p.function.inLoops++
	defer func() { p.function.inLoops-- }()
	return p.weighed(read)
}

func (p *parser) whileStatement(line int) Stmt {
	p.advance()
	statement := &While{}
	statement.Body = p.loop(func() []Stmt {
		statement.Condition = p.expression().tree
		p.expect("do")
		return p.scope()
	})
	p.closing("end", "while", line)
	return statement
}

func (p *parser) repeatStatement(line int) Stmt {
	p.advance()
	statement := &Repeat{}
	statement.Body = p.loop(func() []Stmt {
		p.open()
		defer p.close()
		body := p.block()
		p.closing("until", "repeat", line)
		statement.Condition = p.expression().tree
		return body
	})
	return statement
}

func (p *parser) forStatement(line int) []Stmt {
	p.advance()
	at := p.at
	first := p.name()
	switch {
	case p.token.is("="):
		return p.numericFor(line, at, first)
	case p.token.is(",") || p.token.is("in"):
		return p.genericFor(line, first)
	}
	p.unexpected("'=' or 'in' expected")
	return nil
}

func (p *parser) numericFor(line, at int, name string) []Stmt {
	p.advance()
	statement := &NumericFor{First: p.expression().single()}
	p.expect(",")
	statement.Limit = p.expression().single()
	if p.accept(",") {
		statement.Step = p.expression().single()
	}
	p.expect("do")
	statement.Node = p.node(Node{Line: p.lastLine})
	statement.Body = p.loop(func() []Stmt {
		p.open()
		defer p.close()
		variable := p.declare(name)
		variable.at, variable.number = at, !p.written[at]
		statement.Variable = variable
		return p.scope()
	})
	p.closing("end", "for", line)
	return []Stmt{statement}
}

func (p *parser) genericFor(line int, first string) []Stmt {
	names := []string{first}
	for p.accept(",") {
		names = append(names, p.name())
	}
	p.expect("in")
	called := p.token.line
	statement := &GenericFor{Values: p.values(p.expressions(), false)}
	statement.Node = p.node(Node{Line: called, Function: Operand{Name: "(for generator)"}})
	p.expect("do")
	statement.Body = p.loop(func() []Stmt {
		p.open()
		defer p.close()
		for _, name := range names {
			statement.Locals = append(statement.Locals, p.declare(name))
		}
		return p.scope()
	})
	p.closing("end", "for", line)
	return []Stmt{statement}
}

// functionStatement is "function a.b.c:m() end".
func (p *parser) functionStatement(line int) []Stmt {
	p.advance()
	target := p.variable(p.name())
	method := false
	for !method && (p.token.is(".") || p.token.is(":")) {
		method = p.token.is(":")
		p.advance()
		target = p.field(target, p.name())
	}
	return []Stmt{p.assign(target, p.functionBody(method, line), line)}
}

func (p *parser) localFunction() []Stmt {
	line := p.token.line
	variable := p.declare(p.name())
	variable.Changed = true // after its own body, which may refer to it
	body := p.functionBody(false, line)
	return []Stmt{&Declare{[]*Local{variable}, []Expr{body.tree}}}
}

func (p *parser) localStatement() []Stmt {
	names := []string{p.name()}
	for p.accept(",") {
		names = append(names, p.name())
	}
	statement := &Declare{}
	if p.accept("=") {
		statement.Values = p.values(p.expressions(), false)
	}
	for _, name := range names {
		statement.Locals = append(statement.Locals, p.declare(name))
	}
	return []Stmt{statement}
}

func (p *parser) returnStatement() Stmt {
	p.advance()
	statement := &Return{}
	if p.endsBlock() || p.token.is(";") {
		return statement
	}
	list := p.expressions()
	statement.Values = p.values(list, len(list) > 1)
	return statement
}

// expressionStatement is a call or an assignment.
func (p *parser) expressionStatement() []Stmt {
	first := p.suffixed()
	if first.kind == callExpr {
		return []Stmt{&Perform{first.tree}}
	}
	targets := []expr{first}
	for p.token.is(",") || p.token.is("=") {
		if last := targets[len(targets)-1]; last.kind != localExpr && last.kind != globalExpr && last.kind != indexExpr {
			p.unexpected("syntax error")
		}
		if p.accept("=") {
			return p.assignment(targets, p.expressions())
		}
		p.advance()
		p.pay(len(targets) / searchedPerStep)
		targets = append(targets, p.suffixed())
	}
	if len(targets) == 1 && first.kind != localExpr && first.kind != globalExpr && first.kind != indexExpr {
		p.unexpected("syntax error")
	}
	p.expect("=")
	return nil
}

func (p *parser) assignment(targets, values []expr) []Stmt {
	if len(targets) == 1 && len(values) == 1 {
		return []Stmt{p.assign(targets[0], values[0], p.lastLine)}
	}
	// The places come first, then the values, then the assignments from right to left. A local that no assignment to
	// its right changes stays in its place, where Lua reads it after the values were computed.
	var before, after []Stmt
	temps := p.function.temps
	defer func() { p.function.temps = temps }()
	names := make([]*Local, len(targets))
	for i, t := range targets {
		names[i] = p.temporary()
		if t.kind == indexExpr {
			for _, part := range []*Expr{&t.object, &t.key} {
				if p.isKept(*part, targets[i+1:]) {
					continue
				}
				place := p.temporary()
				before = append(before, &Declare{[]*Local{place}, []Expr{*part}})
				*part = &Variable{place}
			}
		}
		after = append([]Stmt{p.assign(t, expr{tree: &Variable{names[i]}}, p.lastLine)}, after...)
	}
	middle := &Declare{names, p.values(values, false)}
	return []Stmt{&Block{append(append(before, middle), after...)}}
}

// isKept reports whether an expression is a local of this function that the targets do not assign to.
func (p *parser) isKept(e Expr, targets []expr) bool {
	v, is := e.(*Variable)
	return is && v.Local.of == p.function &&
		!slices.ContainsFunc(targets, func(t expr) bool { return t.value == v.Local })
}

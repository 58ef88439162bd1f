package flakiness

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// timeDecides finds measured time that decides something: a comparison, or a call of a function that might compare.
func timeDecides(p *goPackage, f *function, report func(at token.Pos, what string)) {
	if f.isPollingHelper() {
		return
	}
	m := newMeasures(f)
	outsideBubbles(f.node, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			switch n.Op {
			case token.LSS, token.GTR, token.LEQ, token.GEQ, token.EQL, token.NEQ:
				if m.isSpan(n.X) || m.isSpan(n.Y) || m.isMoment(n.X) || m.isMoment(n.Y) {
					report(n.Pos(), "a measured time is compared")
				}
			}
		case *ast.CallExpr:
			s, isMethod := n.Fun.(*ast.SelectorExpr)
			if isMethod && len(n.Args) == 1 && slices.Contains([]string{"After", "Before", "Equal", "Compare"}, s.Sel.Name) && (isNow(s.X) || isNow(n.Args[0])) {
				report(n.Pos(), "the present time is compared")
			}
			if !isReport(n.Fun) && !isTransparent(n.Fun) && slices.ContainsFunc(n.Args, m.isSpan) {
				report(n.Pos(), "a measured time is handed to a function")
			}
		}
	})
}

var reportName = regexp.MustCompile(`^(Log|Error|Fatal|Skip|Print|Fprint|Sprint|Append)(f|ln)?$`)

// isReport reports whether a function only shows its arguments.
func isReport(fun ast.Expr) bool {
	s, is := fun.(*ast.SelectorExpr)
	return is && (reportName.MatchString(s.Sel.Name) || s.Sel.Name == "ReportMetric")
}

// isTransparent reports whether a function makes of a time another figure of the same time.
func isTransparent(fun ast.Expr) bool {
	switch fun := fun.(type) {
	case *ast.Ident:
		return slices.Contains([]string{"max", "min", "append", "len", "int", "int64", "uint64", "float64"}, fun.Name)
	case *ast.SelectorExpr:
		return isName(fun.X, "math") || isName(fun.X, "time") && fun.Sel.Name == "Duration" || isName(fun.X, "slices") || isName(fun.X, "cmp") || isName(fun.X, "sort")
	}
	return false
}

// measures are the variables of a function that hold moments or spans of real time.
type measures struct{ moments, spans map[string]bool }

func newMeasures(f *function) *measures {
	m := &measures{map[string]bool{}, map[string]bool{}}
	for before := -1; before < len(m.moments)+len(m.spans); {
		before = len(m.moments) + len(m.spans)
		outsideBubbles(f.node, func(n ast.Node) {
			switch n := n.(type) {
			case *ast.AssignStmt:
				if len(n.Lhs) == len(n.Rhs) {
					for i := range n.Lhs {
						m.note(n.Lhs[i], n.Rhs[i])
					}
				}
			case *ast.ValueSpec:
				for i := range n.Values {
					m.note(n.Names[min(i, len(n.Names)-1)], n.Values[i])
				}
			}
		})
	}
	return m
}

// note notes an assignment.
func (m *measures) note(to, from ast.Expr) {
	if index, is := to.(*ast.IndexExpr); is {
		to = index.X
	}
	name := exprName(to)
	if name == "" || name == "_" {
		return
	}
	m.moments[name] = m.moments[name] || m.isMoment(from)
	m.spans[name] = m.spans[name] || m.isSpan(from)
	for _, kind := range []map[string]bool{m.moments, m.spans} {
		if !kind[name] {
			delete(kind, name)
		}
	}
}

// exprName is the name of a variable, or of a field with the variable in front.
func exprName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if from := exprName(e.X); from != "" {
			return from + "." + e.Sel.Name
		}
	}
	return ""
}

func isNow(e ast.Expr) bool {
	call, is := e.(*ast.CallExpr)
	return is && isSelector(call.Fun, "time", "Now")
}

// isMoment reports whether an expression is a moment of real time.
func (m *measures) isMoment(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.CallExpr:
		s, is := e.Fun.(*ast.SelectorExpr)
		return isNow(e) || is && slices.Contains([]string{"Unix", "UnixNano", "UnixMicro", "UnixMilli", "Add", "Round", "Truncate", "UTC"}, s.Sel.Name) && m.isMoment(s.X)
	case *ast.ParenExpr:
		return m.isMoment(e.X)
	}
	return m.moments[exprName(e)]
}

// isSpan reports whether an expression is a measured time, or a figure made of one, such as a rate.
func (m *measures) isSpan(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return m.isSpan(e.X)
	case *ast.UnaryExpr:
		return m.isSpan(e.X)
	case *ast.IndexExpr:
		return m.isSpan(e.X)
	case *ast.BinaryExpr:
		return m.isSpan(e.X) || m.isSpan(e.Y) || e.Op == token.SUB && (m.isMoment(e.X) || m.isMoment(e.Y))
	case *ast.CallExpr:
		s, isMethod := e.Fun.(*ast.SelectorExpr)
		switch {
		case isSelector(e.Fun, "time", "Since") || isSelector(e.Fun, "time", "Until"):
			return true
		case isTransparent(e.Fun):
			return slices.ContainsFunc(e.Args, m.isSpan)
		case !isMethod:
			return false
		case s.Sel.Name == "Sub" && len(e.Args) == 1:
			return m.isMoment(s.X) || m.isMoment(e.Args[0])
		}
		return len(e.Args) <= 1 && slices.Contains([]string{"Seconds", "Milliseconds", "Microseconds", "Nanoseconds", "Minutes", "Hours", "Round", "Truncate", "Abs"}, s.Sel.Name) && m.isSpan(s.X)
	}
	return m.spans[exprName(e)]
}

// measuresCPU finds CPU time that is measured outside of benchmarks, which read it in functions that have the
// benchmark.
func measuresCPU(_ *goPackage, f *function, report func(at token.Pos, what string)) {
	if strings.HasPrefix(f.name, "Benchmark") {
		return
	}
	ast.Inspect(f.node, func(n ast.Node) bool {
		if s, is := n.(*ast.SelectorExpr); is && slices.Contains([]string{"Getrusage", "ClockGettime", "UserTime", "SystemTime", "SysUsage"}, s.Sel.Name) {
			report(n.Pos(), "CPU time is measured")
		}
		return true
	})
}

var timesCompared = map[string]*regexp.Regexp{
	".mjs":  regexp.MustCompile(`(performance|Date)\.now\(\)\s*-\s*[\w.]+\)?\s*[<>]|[<>]=?\s*\(?(performance|Date)\.now\(\)|(performance|Date)\.now\(\)\s*[<>]|assert\S*\(.*\b(elapsed|took|waited)\b\s*[<>]`),
	".java": regexp.MustCompile(`(nanoTime|currentTimeMillis)\(\)\s*-\s*[\w.]+\)?\s*[<>]|[<>]=?\s*\(?System\.(nanoTime|currentTimeMillis)\(\)|(nanoTime|currentTimeMillis)\(\)\s*[<>]|assert\S*\(.*\b(elapsed|took|waited)\b\s*[<>]`),
	".py":   regexp.MustCompile(`(monotonic|perf_counter|time\.time)\(\)\s*-\s*[\w.]+\)?\s*[<>]|[<>]=?\s*\(?(time\.)?(monotonic|perf_counter)\(\)|(monotonic|perf_counter)\(\)\s*[<>]|assert .*\b(elapsed|took|waited)\b\s*[<>]`),
}

func timeDecidesInText(f textFile, report func(line int, what string)) {
	reportMatches(f, timesCompared, "a measured time is compared", report)
}

// reportMatches reports the lines in which the expression for the file's language is found, apart from comments.
func reportMatches(f textFile, byLanguage map[string]*regexp.Regexp, what string, report func(line int, what string)) {
	ext := f.language()
	if byLanguage[ext] == nil {
		return
	}
	for i, line := range f.lines {
		trimmed := strings.TrimSpace(line)
		if !strings.HasPrefix(trimmed, "//") && !strings.HasPrefix(trimmed, "#") && byLanguage[ext].MatchString(line) {
			report(i+1, what)
		}
	}
}

// closedAsIdle finds listening servers that close connections as idle by a clock that a test moves.
func closedAsIdle(_ *goPackage, f *function, report func(at token.Pos, what string)) {
	clock, fields := token.NoPos, map[string]bool{}
	ast.Inspect(f.node, func(n ast.Node) bool {
		if s, is := n.(*ast.SelectorExpr); is {
			fields[s.Sel.Name] = true
			if isSelector(s, "clocktest", "New") {
				clock = n.Pos()
			}
		}
		return true
	})
	if clock.IsValid() && fields["Listen"] && !fields["IdleTimeout"] {
		report(clock, "the server closes idle connections by a clock that the test moves")
	}
}

package flakiness

import (
	"go/ast"
	"go/constant"
	"go/token"
	"regexp"
	"slices"
	"time"
)

// pollingHelpers are the functions that wait for conditions: one for each module, and in clients/go one for each kind
// of process, because its servers are started without a test.
var pollingHelpers = []string{
	"internal/testwait/testwait.go:Poll",
	"clients/go/down_test.go:waitFor",
	"clients/go/internal/servertest/redis.go:StartRedis",
	"clients/go/internal/servertest/servertest.go:Pause",
	"clients/compattest/limiterfailover_test.go:leaderOf",
	"docker/servers_test.go:waitFor",
	"server/admin/browser/cluster_test.go:until",
}

func (f *function) isPollingHelper() bool {
	return slices.Contains(pollingHelpers, f.file.name+":"+f.name)
}

// sleeps finds waits for a time that was guessed.
func sleeps(p *goPackage, f *function, report func(at token.Pos, what string)) {
	if f.isPollingHelper() {
		return
	}
	outsideBubbles(f.node, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpr:
			if isSelector(n.Fun, "time", "Sleep") {
				report(n.Pos(), "a sleep")
			}
		case *ast.ExprStmt: // <-time.After(d) alone, not in a select
			if receive, is := n.X.(*ast.UnaryExpr); is && receive.Op == token.ARROW && isTimer(receive.X) && !isCase(f.node, n) {
				report(n.Pos(), "a sleep")
			}
		}
	})
}

func isTimer(e ast.Expr) bool {
	call, is := e.(*ast.CallExpr)
	return is && (isSelector(call.Fun, "time", "After") || isSelector(call.Fun, "time", "Tick"))
}

// isCase reports whether a statement is the condition of a case in a select.
func isCase(within ast.Node, s ast.Stmt) (is bool) {
	ast.Inspect(within, func(n ast.Node) bool {
		clause, isClause := n.(*ast.CommClause)
		is = is || isClause && clause.Comm == s
		return !is
	})
	return is
}

var sleepsByLanguage = map[string]*regexp.Regexp{
	".mjs":  regexp.MustCompile(`\bsetTimeout\(|\bawait (sleep|delay)\(|\bsetInterval\(`),
	".java": regexp.MustCompile(`\bThread\.sleep\(|\bparkNanos\(|\bPause\.of\(`),
	".py":   regexp.MustCompile(`\b(time|asyncio)\.sleep\((\s*[^0\s]|0\.)|\bsleep\((0\.|[1-9])`),
	".sh":   regexp.MustCompile(`(^|[\s;&|])sleep [0-9.$]`),
}

func sleepsInText(f textFile, report func(line int, what string)) {
	reportMatches(f, sleepsByLanguage, "a sleep", report)
}

// leastTimeout is the shortest bound of a wait that a busy machine does not reach.
const leastTimeout = 10 * time.Second

// shortTimeouts finds bounds of waits for real events that a busy machine reaches.
func shortTimeouts(p *goPackage, f *function, report func(at token.Pos, what string)) {
	check := func(d ast.Expr) {
		if length, known := p.duration(d, 4); known && length < leastTimeout {
			report(d.Pos(), "a wait is bounded by "+length.String())
		}
	}
	outsideBubbles(f.node, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpr:
			last := len(n.Args) - 1
			s, is := n.Fun.(*ast.SelectorExpr)
			switch {
			case !is || last < 0:
			case isSelector(n.Fun, "time", "After"), isSelector(n.Fun, "context", "WithTimeout"), isSelector(n.Fun, "net", "DialTimeout"):
				check(n.Args[last])
			case isSelector(n.Fun, "stint", "Timeout"), isSelector(n.Fun, "stint", "ConnectTimeout"):
				if length, known := p.duration(n.Args[last], 4); known && length >= leastOfClients {
					check(n.Args[last])
				}
			case slices.Contains([]string{"SetDeadline", "SetReadDeadline", "SetWriteDeadline", "WithDeadline"}, s.Sel.Name):
				if add, isAdd := n.Args[last].(*ast.CallExpr); isAdd && len(add.Args) == 1 {
					check(add.Args[0])
				}
			}
		case *ast.CompositeLit:
			if isSelector(n.Type, "http", "Client") || isSelector(n.Type, "net", "Dialer") {
				for _, field := range n.Elts {
					if pair, is := field.(*ast.KeyValueExpr); is && isName(pair.Key, "Timeout") {
						check(pair.Value)
					}
				}
			}
		}
	})
}

// leastOfClients is the shortest time-out of a client that a test of something else may have: one below it is the
// subject.
const leastOfClients = 100 * time.Millisecond

// clientTimeouts find the time-outs that tests give clients: from leastOfClients to less than leastTimeout.
var clientTimeouts = map[string]*regexp.Regexp{
	".mjs":  regexp.MustCompile(`[tT]imeout: *([1-9]_?\d{2,3}\b|"([1-9]s|[1-9]\d\dms)")|AbortSignal\.timeout\([1-9]_?\d{2,3}\)`),
	".java": regexp.MustCompile(`[tT]imeout(Duration)?\((java\.time\.)?Duration\.of(Seconds\([1-9]\)|Millis\([1-9]_?\d{2,3}\))|\.(get|await|poll|waitFor)\([1-9], (TimeUnit\.)?SECONDS\)`),
	".py":   regexp.MustCompile(`timeout=(0?\.[1-9]|[1-9](\.\d+)?\b[^.\d])|\.(join|result)\([1-9](\.\d+)?\)`),
}

func shortTimeoutsInText(f textFile, report func(line int, what string)) {
	reportMatches(f, clientTimeouts, "a wait is bounded by less than "+leastTimeout.String(), report)
}

// duration is the value of a constant duration. depth bounds the constants that are looked up.
func (p *goPackage) duration(e ast.Expr, depth int) (d time.Duration, known bool) {
	v := p.constant(e, depth)
	if v == nil {
		return 0, false
	}
	n, known := constant.Int64Val(constant.ToInt(v))
	return time.Duration(n), known
}

var timeUnits = map[string]time.Duration{"Nanosecond": 1, "Microsecond": time.Microsecond, "Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}

func (p *goPackage) constant(e ast.Expr, depth int) constant.Value {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return p.constant(e.X, depth)
	case *ast.BasicLit:
		if e.Kind == token.INT || e.Kind == token.FLOAT {
			return constant.MakeFromLiteral(e.Value, e.Kind, 0)
		}
	case *ast.SelectorExpr:
		if unit, is := timeUnits[e.Sel.Name]; is && isName(e.X, "time") {
			return constant.MakeInt64(int64(unit))
		}
	case *ast.BinaryExpr:
		x, y := p.constant(e.X, depth), p.constant(e.Y, depth)
		if x != nil && y != nil && slices.Contains([]token.Token{token.MUL, token.ADD, token.SUB}, e.Op) {
			return constant.BinaryOp(constant.ToFloat(x), e.Op, constant.ToFloat(y))
		}
	case *ast.Ident:
		for i := range p.functions {
			v, is := p.functions[i].node.(*ast.ValueSpec)
			if is && depth > 0 && p.functions[i].name == e.Name && len(v.Values) == 1 && len(v.Names) == 1 {
				return p.constant(v.Values[0], depth-1)
			}
		}
	}
	return nil
}

package flakiness

import (
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// reservationHelpers reserve addresses that a server listens on later.
var reservationHelpers = []string{"internal/testaddress/", "internal/testserver/", "clients/go/internal/servertest/"}

// childHelpers start processes, and end them with the test: one for each module.
var childHelpers = []string{"internal/testprocess/", "internal/testserver/", "clients/go/internal/servertest/"}

func isIn(name string, places []string) bool {
	return slices.ContainsFunc(places, func(place string) bool {
		return name == place || strings.HasSuffix(place, "/") && strings.HasPrefix(name, place)
	})
}

var freePortName = regexp.MustCompile(`(?i)^(free|unused)(tcp)?(port|addr|address)(es|s)?$`)

// freePorts finds ports that are looked for, given back, and used later, when another program may have them.
func freePorts(p *goPackage, f *function, report func(at token.Pos, what string)) {
	if isIn(f.file.name, reservationHelpers) {
		return
	}
	if _, is := f.node.(*ast.FuncDecl); is && freePortName.MatchString(f.name) {
		report(f.node.Pos(), "a free port is looked for")
		return
	}
	outsideBubbles(f.node, func(n ast.Node) {
		if call, is := n.(*ast.CallExpr); is && fixedPort.MatchString(listenAddress(call)) {
			report(n.Pos(), "a port that another program may have")
		}
		assign, is := n.(*ast.AssignStmt)
		if !is || len(assign.Rhs) != 1 || !strings.HasSuffix(listenAddress(assign.Rhs[0]), ":0") {
			return
		}
		if name := exprName(assign.Lhs[0]); name != "" && isOnlyAsked(f.node, name) {
			report(n.Pos(), "a port is taken and given back")
		}
	})
}

var fixedPort = regexp.MustCompile(`:[1-9]\d*$`)

// listenAddress is the address that a call listens on, "" if it does not, or on one that is not written there.
func listenAddress(e ast.Expr) (text string) {
	call, is := e.(*ast.CallExpr)
	if !is || len(call.Args) < 2 {
		return ""
	}
	s, is := call.Fun.(*ast.SelectorExpr)
	address, isText := call.Args[len(call.Args)-1].(*ast.BasicLit)
	if !is || !strings.HasPrefix(s.Sel.Name, "Listen") || !isText {
		return ""
	}
	text, _ = strconv.Unquote(address.Value)
	return text
}

// isOnlyAsked reports whether a listener is closed, and used for its address alone.
func isOnlyAsked(within ast.Node, listener string) bool {
	uses := map[string]int{}
	ast.Inspect(within, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if isName(n.X, listener) {
				uses[n.Sel.Name]++
				return false
			}
		case *ast.Ident:
			if n.Name == listener {
				uses[""]++
			}
		}
		return true
	})
	return uses["Close"] > 0 && uses["Addr"] > 0 && uses["Close"]+uses["Addr"]+uses[""] == sum(uses) && uses[""] == 1 // its definition
}

func sum(counts map[string]int) (total int) {
	for _, n := range counts {
		total += n
	}
	return total
}

var (
	listenInNode  = regexp.MustCompile(`\.listen\(\s*(\{\s*port:\s*)?0\b`)
	givesBackPort = regexp.MustCompile(`\.close\(\s*\(\)\s*=>\s*\w+\((\w+\.)*(port|address)\b`)
	bindInPython  = regexp.MustCompile(`\.bind\(\(.*,\s*0\)\)`)
)

func freePortsInText(f textFile, report func(line int, what string)) {
	if isIn(f.name, reservationHelpers) {
		return
	}
	text := strings.Join(f.lines, "\n")
	for i, line := range f.lines {
		switch path.Ext(f.name) {
		case ".mjs":
			if givesBackPort.MatchString(line) && listenInNode.MatchString(text) {
				report(i+1, "a port is taken and given back")
			}
		case ".py":
			if bindInPython.MatchString(line) && !strings.Contains(strings.Join(f.lines[i:min(len(f.lines), i+5)], "\n"), ".listen(") {
				report(i+1, "a port is taken and given back")
			}
		}
	}
}

// endsEarly are programs that may end before they have read all that a pipe brings them.
var endsEarly = regexp.MustCompile(`\|\s*(head\b|grep\s+(-\S+\s+)*-(\w*[qm]|-quiet|-max-count)|sed\b[^|]*\bq\b|awk\b[^|]*\bexit\b)`)

// readersThatEnd finds pipes in shell scripts whose writer may be ended by its reader. It accepts those whose failure
// is ignored in the same line.
func readersThatEnd(f textFile, report func(line int, what string)) {
	if f.language() != ".sh" {
		return
	}
	for i, line := range f.lines {
		if endsEarly.MatchString(line) && !strings.HasPrefix(strings.TrimSpace(line), "#") && !strings.Contains(line, "|| true") {
			report(i+1, "a reader of a pipe that ends before its writer")
		}
	}
}

// unboundChildren finds processes that may outlive their test, or hang it.
func unboundChildren(p *goPackage, f *function, report func(at token.Pos, what string)) {
	if isIn(f.file.name, childHelpers) {
		return
	}
	isBounded := false
	ast.Inspect(f.node, func(n ast.Node) bool {
		s, is := n.(*ast.SelectorExpr)
		isBounded = isBounded || is && s.Sel.Name == "WaitDelay"
		return !isBounded
	})
	ast.Inspect(f.node, func(n ast.Node) bool {
		call, is := n.(*ast.CallExpr)
		switch {
		case !is:
		case isSelector(call.Fun, "exec", "Command"):
			report(call.Pos(), "a process without a bound")
		case isSelector(call.Fun, "exec", "CommandContext") && !isBounded:
			report(call.Pos(), "a process without WaitDelay, whose children may keep its output open")
		}
		return true
	})
}

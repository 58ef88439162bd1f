package stint_test

import (
	"go/ast"
	"strconv"
	"strings"
	"testing"
)

// elsewhere has the parts that rules of this file leave out: clients may not import packages of ours, and start processes by
// themselves.
var elsewhere = []string{"clients/go/", "clients/node/", "clients/python/"}

func isElsewhere(name string) bool {
	for _, prefix := range elsewhere {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Processes are started by internal/child, which has them end with the one that starts them.
func TestChildrenAreBound(t *testing.T) {
	for _, f := range sources(t) {
		if isElsewhere(f.name) || strings.HasPrefix(f.name, "internal/child/") {
			continue
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if call := called(n, "exec"); call == "Command" || call == "CommandContext" {
				t.Errorf("%s calls exec.%s: use testserver.Command or testserver.NewProcess, outside of tests child.Command", f.name, call)
			}
			return true
		})
	}
}

// called is the function of a package that a node calls, "" for none.
func called(n ast.Node, from string) (function string) {
	call, _ := n.(*ast.CallExpr)
	if call == nil {
		return ""
	}
	selector, _ := call.Fun.(*ast.SelectorExpr)
	if selector == nil {
		return ""
	}
	if of, ok := selector.X.(*ast.Ident); ok && of.Name == from {
		return selector.Sel.Name
	}
	return ""
}

// Nobody finds a free port by listening on it, closes the listener and uses the port: it may be another program's by then.
func TestPortsAreNotFound(t *testing.T) {
	for _, f := range sources(t) {
		if isElsewhere(f.name) || f.name == "internal/loopback/reserve_other.go" { // which has no other way, and says so
			continue
		}
		for _, d := range f.tree.Decls {
			if function, ok := d.(*ast.FuncDecl); ok && function.Body != nil && findsPort(function) {
				t.Errorf("%s: %s closes a listener and hands on its address: listen on port 0 and read the printed address, or use testserver.ReserveAddress",
					f.name, function.Name.Name)
			}
		}
	}
}

// findsPort reports whether a function listens on some port, hands on the address, and closes the listener before that is used:
// at once, or at its end if it returns something.
func findsPort(function *ast.FuncDecl) bool {
	listeners := map[string]bool{}
	ast.Inspect(function, func(n ast.Node) bool {
		if assignment, ok := n.(*ast.AssignStmt); ok && len(assignment.Rhs) == 1 && listensSomewhere(assignment.Rhs[0]) {
			if name, ok := assignment.Lhs[0].(*ast.Ident); ok {
				listeners[name.Name] = true
			}
		}
		return true
	})
	for name := range listeners {
		address, closed, deferred := false, false, false
		ast.Inspect(function, func(n ast.Node) bool {
			address = address || called(n, name) == "Addr"
			closed = closed || called(n, name) == "Close"
			if later, ok := n.(*ast.DeferStmt); ok && called(later.Call, name) == "Close" {
				deferred = true
				return false
			}
			_, inner := n.(*ast.FuncLit) // which runs later
			return !inner
		})
		if address && (closed || deferred && function.Type.Results != nil) {
			return true
		}
	}
	return false
}

// listensSomewhere reports whether an expression is a call of net.Listen with port 0, or with an address that is made up.
func listensSomewhere(e ast.Expr) bool {
	if called(e, "net") != "Listen" || len(e.(*ast.CallExpr).Args) != 2 {
		return false
	}
	address := e.(*ast.CallExpr).Args[1]
	if literal, ok := address.(*ast.BasicLit); ok {
		text, _ := strconv.Unquote(literal.Value)
		return strings.HasSuffix(text, ":0")
	}
	return called(address, "fmt") == "Sprintf"
}

package interpreter

import (
	"slices"
	"strconv"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"

	"github.com/stintdb/stint/engine/script/syntax"
)

// Compile compiles a source as the chunk of a number in its run, with values around it besides the builtins. It returns
// the weight of the body, and the rest of the budget for compiling.
func Compile(c *syntax.Chunk, source string, number int, values map[string]lua.LValue, budget int) (function *lua.LFunction, weight, left int, err error) {
	body, weight, left, err := syntax.Parse(c, source, isBuiltin, budget)
	if err != nil {
		return nil, 0, left, err
	}
	around := []ast.Stmt{&ast.LocalAssignStmt{Names: c.Used}, &ast.ReturnStmt{Exprs: []ast.Expr{body}}}
	outer, err := lua.Compile(around, strconv.Itoa(number))
	if err != nil {
		return nil, 0, left, syntax.Error(c.Display + ":1: function or expression too complex")
	}
	proto := outer.FunctionPrototypes[0]
	clip(proto)
	function = &lua.LFunction{Proto: proto, Env: globals}
	for _, name := range proto.DbgUpvalues {
		value := &lua.Upvalue{}
		value.Close()
		if v, is := values[name]; is {
			value.SetValue(v)
		} else {
			value.SetValue(Builtins[name])
		}
		function.Upvalues = append(function.Upvalues, value)
	}
	return function, weight, left, nil
}

func isBuiltin(name string) bool { return Builtins[name] != nil }

// clip lets go of the room for more instructions that gopher-lua leaves in a function, some 12 kB.
func clip(f *lua.FunctionProto) {
	f.Code, f.DbgSourcePositions = slices.Clone(f.Code), slices.Clone(f.DbgSourcePositions)
	f.Constants, f.DbgLocals, f.DbgCalls = slices.Clone(f.Constants), slices.Clone(f.DbgLocals), slices.Clone(f.DbgCalls)
	for _, inner := range f.FunctionPrototypes {
		clip(inner)
	}
}

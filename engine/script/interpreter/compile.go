package interpreter

import (
	"slices"

	"github.com/stintdb/stint/engine/script/syntax"
	"github.com/stintdb/stint/engine/script/value"
)

// Compile compiles a source to a function. It returns the weight of the body, and the rest of the budget for compiling.
func Compile(c *syntax.Chunk, source string, budget int) (function *Function, weight, left int, err error) {
	body, weight, left, err := syntax.Parse(c, source, isBuiltin, budget)
	if err != nil {
		return nil, 0, left, err
	}
	f := compiler{chunk: c, aliases: map[*syntax.Local]string{}}
	return &Function{proto: f.function(body)}, weight, left, nil
}

func isBuiltin(name string) bool { return !Builtins[name].IsNil() }

// compiler compiles one function.
type compiler struct {
	chunk *syntax.Chunk
	outer *compiler
	own   map[*syntax.Local]bool // locals that were declared so far
	boxes map[*syntax.Local]int  // captured ones of the functions around it, by number
	proto *proto

	aliases map[*syntax.Local]string // locals that are always a builtin, by its name; shared by all functions
}

func (c *compiler) function(f *syntax.Function) *proto {
	c.own, c.boxes = map[*syntax.Local]bool{}, map[*syntax.Local]int{}
	c.proto = &proto{chunk: c.chunk, parameters: f.Parameters, isVariadic: f.IsVariadic, arg: f.Arg, usesDots: f.UsesDots, slots: f.Slots}
	c.declare(f.Parameters...)
	if f.Arg != nil {
		c.declare(f.Arg)
	}
	body := f.Body
	if len(body) > 0 {
		if charge, is := body[0].(*syntax.Charge); is {
			c.proto.entry, body = *charge, body[1:]
		}
	}
	c.proto.body = c.block(body)
	return c.proto
}

func (c *compiler) declare(locals ...*syntax.Local) {
	for _, local := range locals {
		c.own[local] = true
	}
}

// box is the number of a local of the functions around this one.
func (c *compiler) box(local *syntax.Local) int {
	at, known := c.boxes[local]
	if !known {
		from := capture{at: local.Slot}
		if !c.outer.own[local] {
			from = capture{isOuter: true, at: c.outer.box(local)}
		}
		at = len(c.proto.captures)
		c.boxes[local] = at
		c.proto.captures = append(c.proto.captures, from)
	}
	return at
}

func (c *compiler) block(statements []syntax.Stmt) (list []exec) {
	for _, s := range statements {
		list = append(list, c.statement(s))
	}
	return list
}

// run executes statements.
func (fr *frame) run(list []exec) signal {
	for _, statement := range list {
		if s := statement(fr); s != normal {
			return s
		}
	}
	return normal
}

// operand is an expression that is often a local or a constant. Both have a slot in the frame, which is read without a
// call.
type operand struct {
	compute eval // nil if the value is in the slot
	slot    int  // of the frame
}

func (o *operand) get(fr *frame) value.Value {
	if o.compute != nil {
		return o.compute(fr)
	}
	return fr.locals[o.slot]
}

func (c *compiler) operand(e syntax.Expr) operand {
	switch e := e.(type) {
	case *syntax.Constant:
		return c.constant(e.Value)
	case *syntax.Builtin:
		return c.constant(Builtins[e.Name])
	case *syntax.Variable:
		if name, known := c.aliases[e.Local]; known {
			return c.constant(Builtins[name])
		}
		if c.own[e.Local] && !e.Local.Captured {
			return operand{slot: e.Local.Slot}
		}
	}
	return operand{compute: c.expression(e)}
}

// maxConstants is the number of constants that a function's frames hold. Further ones are rarely worth the room.
const maxConstants = 32

// constant gives a constant a slot after those of the function's locals.
func (c *compiler) constant(v value.Value) operand {
	p := c.proto
	at := slices.Index(p.constants, v)
	if at < 0 {
		if len(p.constants) == maxConstants {
			return operand{compute: func(*frame) value.Value { return v }}
		}
		at = len(p.constants)
		p.constants = append(p.constants, v)
	}
	return operand{slot: p.slots + at}
}

func (c *compiler) operands(list []syntax.Expr) (all []operand) {
	for _, e := range list {
		all = append(all, c.operand(e))
	}
	return all
}

package syntax

import "strconv"

// scopes knows the names of the source: which local each one is, in which function.
type scopes struct {
	tokens
	function *function
	locals   int          // number of all locals, which gives them names in the tree
	written  map[int]bool // loop variables, by position, that the source assigns to
	again    bool         // written grew: read the source once more
}

// function is a function being read.
type function struct {
	parent *function
	blocks [][]*local
	vararg bool
	count  int // of locals in use

	constants map[string]struct{} // of which gopher-lua searches a list for each use
	inLoops   int
}

// local is a local variable.
type local struct {
	name   string
	inTree string // unique
	number bool   // holds a number always
	at     int    // position in the source
	of     *function
}

const maxLocals = 150 // of a function; leaves registers to the interpreter

func (p *scopes) open() { p.function.blocks = append(p.function.blocks, nil) }

func (p *scopes) close() {
	f := p.function
	last := len(f.blocks) - 1
	f.count -= len(f.blocks[last])
	f.blocks = f.blocks[:last]
}

// declare adds a local to the innermost scope.
func (p *scopes) declare(name string) *local {
	f := p.function
	p.locals++
	v := &local{name: name, inTree: name + "#" + strconv.Itoa(p.locals), at: p.at, of: f}
	f.blocks[len(f.blocks)-1] = append(f.blocks[len(f.blocks)-1], v)
	if f.count++; f.count > maxLocals {
		p.unexpected("too many local variables (limit is " + strconv.Itoa(maxLocals) + ")")
	}
	return v
}

// find returns the local of a name, or nil: it is a global.
func (p *scopes) find(name string) *local {
	for f := p.function; f != nil; f = f.parent {
		for b := len(f.blocks) - 1; b >= 0; b-- {
			p.pay(2 * len(f.blocks[b]) / searchedPerStep) // gopher-lua looks for it as well
			for i := len(f.blocks[b]) - 1; i >= 0; i-- {
				if v := f.blocks[b][i]; v.name == name {
					return v
				}
			}
		}
	}
	return nil
}

// constant notes a constant of the function that is being read.
func (p *scopes) constant(text string) {
	f := p.function
	if f.constants == nil {
		f.constants = map[string]struct{}{}
	}
	f.constants[text] = struct{}{}
	p.pay(len(f.constants) / searchedPerStep)
}

func (p *scopes) temporary() string {
	p.locals++
	return "(" + strconv.Itoa(p.locals) + ")"
}

// assigned notes that a local changes: a loop variable may then hold anything.
func (p *scopes) assigned(target expr) {
	if v := target.value; v != nil && v.number {
		p.written[v.at] = true
		p.again = true
	}
}

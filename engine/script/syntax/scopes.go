package syntax

import "strconv"

// scopes knows the names of the source: which local each one is, in which function.
type scopes struct {
	tokens
	function *function
	written  map[int]bool // loop variables, by position, that the source assigns to
	again    bool         // written grew: read the source once more
}

// function is a function being read.
type function struct {
	parent *function
	line   int // where it begins
	blocks [][]*Local
	vararg bool
	count  int  // of locals in use
	slots  int  // for locals and temporaries
	dots   bool // "..." is used
	temps  int  // temporaries in use

	constants map[string]struct{} // that were used so far, see searchedPerStep
	inLoops   int
}

const maxLocals = 200 // of a function

func (p *scopes) open() { p.function.blocks = append(p.function.blocks, nil) }

func (p *scopes) close() {
	f := p.function
	last := len(f.blocks) - 1
	f.count -= len(f.blocks[last])
	f.blocks = f.blocks[:last]
}

// declare adds a local to the innermost scope.
func (p *scopes) declare(name string) *Local {
	f, v := p.function, p.local(name)
	f.blocks[len(f.blocks)-1] = append(f.blocks[len(f.blocks)-1], v)
	if f.count++; f.count > maxLocals {
		where := "main function"
		if f.parent != nil {
			where = "function at line " + strconv.Itoa(f.line)
		}
		p.line = p.token.line
		p.fail(where+" has more than "+strconv.Itoa(maxLocals)+" local variables", "")
	}
	return v
}

// local is a local with the next slot.
func (p *scopes) local(name string) *Local {
	f := p.function
	v := &Local{name: name, Slot: f.count + f.temps, of: f}
	f.slots = max(f.slots, v.Slot+1)
	return v
}

// find returns the local of a name, or nil: it is a global.
func (p *scopes) find(name string) *Local {
	for f := p.function; f != nil; f = f.parent {
		for b := len(f.blocks) - 1; b >= 0; b-- {
			p.pay(2 * len(f.blocks[b]) / searchedPerStep)
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

// temporary is a local without a name, until the next statement.
func (p *scopes) temporary() *Local {
	v := p.local("")
	p.function.temps++
	return v
}

// assigned notes that a local changes: a loop variable may then hold anything.
func (p *scopes) assigned(target expr) {
	v := target.value
	if v.Changed = true; v.number {
		p.written[v.at] = true
		p.again = true
	}
}

// Package interpreter executes the scripts that package syntax reads: a run with its budget, its errors, and the
// language's own operators and functions. It knows no commands and no replies.
//
// A source is compiled to closures: one for each expression and statement, which call each other. Locals have numbered
// places in the frame of their function.
//
// A Go function that scripts call gets the [Thread] that calls it. It pays first ([Thread.Charge]), takes its arguments
// (CheckTable, OptInt and the like), pushes its results, and returns their number.
package interpreter

import (
	"unsafe"

	"github.com/stintdb/stint/engine/script/syntax"
	"github.com/stintdb/stint/engine/script/value"
)

// MaxUnpacked is how many values a function may return at once.
const MaxUnpacked = 8000

// maxKeptBuild is the largest buffer that is kept for the next run.
const maxKeptBuild = 1 << 20

// Host runs the script.
type Host interface {
	// Expired reports whether the script must end now, with [TimeError].
	Expired() bool
}

// Kept is state that is kept until a run ends. The next run finds it reset.
type Kept interface{ Reset() }

// Run is the state of one execution.
type Run struct {
	Host Host
	Kept Kept // state of the libraries
	Main *Thread

	budget     int                  // steps that are left
	lookAt     int                  // the budget at which the script's time is looked at
	over       string               // why the script must end
	arguments  [2]arguments         // KEYS and ARGV
	dead       map[*value.Table]int // deleted keys, which iteration steps over
	names      map[value.Value]int  // of objects, for tostring
	coroutines coroutines
	build      []byte // for texts that are built
	memory     memory
}

// NewRun returns a run, for one script after the other.
func NewRun() *Run {
	r := &Run{}
	r.Main = &Thread{run: r}
	return r
}

// Start prepares the run of a script within a budget, with its KEYS and ARGV.
func (r *Run) Start(host Host, budget int, keys, argv [][]byte) {
	r.budget, r.over, r.Host = budget, "", host
	r.lookAt = max(r.budget-stepsPerLook, 0)
	r.arguments[0].texts, r.arguments[1].texts = keys, argv
}

// Execute runs a script's function. It returns its first result, or its error. A panic of the host goes on.
func (r *Run) Execute(f *Function) (result value.Value, failed *Raised) {
	L := r.Main
	if failed = L.protect(func() { result = L.call1(OfFunction(f), len(L.stack)) }); failed != nil {
		return value.Nil, failed
	}
	return result, nil
}

// Finish forgets the run.
func (r *Run) Finish() {
	for _, c := range r.coroutines.alive {
		c.stop()
	}
	if r.Kept != nil {
		r.Kept.Reset()
	}
	r.Main.forget()
	r.memory.reset()
	r.Host, r.arguments, r.dead, r.names, r.coroutines = nil, [2]arguments{}, nil, nil, coroutines{}
	if r.build = r.build[:0]; cap(r.build) > maxKeptBuild {
		r.build = nil
	}
}

// GoFunction is a function that scripts call. It returns the number of its results, which are the last values of the
// thread's stack.
type GoFunction func(L *Thread) int

// Function is a function of a script or of a library.
type Function struct {
	proto *proto // nil of a Go function
	boxes []*value.Value
	code  GoFunction
}

// OfFunction is a function as a value.
func OfFunction(f *Function) value.Value {
	return value.Reference(value.FunctionKind, unsafe.Pointer(f))
}

// AsFunction is the function that a value is, or nil.
func AsFunction(v value.Value) *Function {
	if v.Kind() == value.FunctionKind {
		return (*Function)(v.Object())
	}
	return nil
}

// IsGo reports whether a function is of a library.
func (f *Function) IsGo() bool { return f.proto == nil }

// NewFunction is a Go function as a value.
func NewFunction(code GoFunction) value.Value { return OfFunction(&Function{code: code}) }

// proto is a function's text, compiled.
type proto struct {
	chunk      *syntax.Chunk
	parameters []*syntax.Local
	isVariadic bool
	arg        *syntax.Local
	usesDots   bool
	slots      int           // of the locals
	constants  []value.Value // whose slots follow
	body       []exec
	entry      syntax.Charge
	captures   []capture
}

// capture says where a function that is made finds a local of those around it.
type capture struct {
	isOuter bool // among those of the function around it
	at      int
}

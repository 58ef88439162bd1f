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
	"github.com/stintdb/stint/engine/script/syntax"
	"github.com/stintdb/stint/engine/script/value"
)

// Host runs the script.
type Host interface {
	// Expired reports whether the script must end now, with [TimeError].
	Expired() bool
	// Dialect is the version of the language.
	Dialect() int64
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

// Thread is a script, or a coroutine of it, with its calls.
type Thread struct {
	run *Run

	stack   []value.Value // arguments and results of calls
	base    int           // of the Go function that runs
	frames  []*frame
	depth   int
	deepest int // that was reached

	locals []value.Value // the current segment of the locals
	used   int
}

// frame is a call of a function.
type frame struct {
	L         *Thread
	function  *Function // nil of a Go function
	locals    []value.Value
	varargs   []value.Value
	at        int // node of the call or the operation that runs
	tailCalls int // of functions that this one has taken the place of
	results   int // on the stack
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

// eval computes the one value of an expression.
type eval func(fr *frame) value.Value

// evals pushes all values of an expression on the stack, and returns their number.
type evals func(fr *frame) int

// test computes a condition.
type test func(fr *frame) bool

// exec executes a statement.
type exec func(fr *frame) signal

// signal says how the statements after one go on.
type signal uint8

const (
	normal   signal = iota
	broken          // out of the loop
	returned        // with the frame's results
	tail            // with a call of the frame's function, whose arguments are on the stack from results on
)

// memory is where a run makes its texts and tables. Nothing of it is used after the run: whoever takes a value out of a
// run copies it.
type memory struct {
	text   []byte
	tables []*value.Table
	used   int // of tables
}

// arguments are KEYS or ARGV: texts of the request, and the table of them once the script uses it as a table.
type arguments struct {
	texts [][]byte
	table *value.Table
}

// coroutine is a function with a stack of its own, on which the interpreter's Go functions run too: so a script may yield
// from anywhere.
type coroutine struct {
	thread   *Thread
	body     value.Value
	resume   func() (struct{}, bool)
	stop     func()
	yield    func(struct{}) bool
	passed   []value.Value // to the other side
	failed   *Raised
	resumer  *coroutine
	finished bool
}

// coroutines are those of a run.
type coroutines struct {
	alive   map[*coroutine]*coroutine
	current *coroutine
}

// Raised is an error on its way: its value, and the place that Redis adds to the reply.
type Raised struct {
	value  value.Value
	source string
	line   int
	final  bool // no pcall catches it
	traced bool // it costs tracePrice
}

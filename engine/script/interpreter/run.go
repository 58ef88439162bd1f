package interpreter

import (
	"unsafe"

	"github.com/stintdb/stint/engine/script/value"
)

// MaxUnpacked is how many values a function may return at once.
const MaxUnpacked = 8000

// maxKeptBuild is the largest buffer that is kept for the next run.
const maxKeptBuild = 1 << 20

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

// NewFunction is a Go function as a value.
func NewFunction(code GoFunction) value.Value { return OfFunction(&Function{code: code}) }

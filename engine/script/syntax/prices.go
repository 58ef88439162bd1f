package syntax

// BytesPerStep is how many bytes of a text that is built or read cost one step, when a script is compiled and when it runs.
const BytesPerStep = 16

// Prices of compiling, in steps.
const (
	compileToken    = 20
	compileFunction = 500 // gopher-lua gives each one room for 1024 instructions first
	searchedPerStep = 4   // constants or locals, which are searched one after the other
)

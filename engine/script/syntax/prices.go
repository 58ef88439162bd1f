package syntax

// BytesPerStep is how many bytes of a text that is built or read cost one step, when a script is compiled and when it runs.
const BytesPerStep = 16

// Prices of compiling, in steps. They belong to the dialect: an earlier interpreter needed this much, and searched lists of
// constants, of locals and of chained operators one by one.
const (
	compileToken    = 20
	compileFunction = 500
	searchedPerStep = 4 // constants or locals, which are searched one after the other
)

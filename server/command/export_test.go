package command

// What the tests of the whole table need, which are outside of this package because package all imports it.
const (
	FirstVersion = firstVersion
	LongestName  = longestName
)

var (
	ParseSyntax = parseSyntax
	ArityOf     = arityOf
)

package data

// For the tests of package data_test, which use the commands of the packages below.
var (
	ErrValueTooBig = errValueTooBig
	ParseScript    = parseScript
)

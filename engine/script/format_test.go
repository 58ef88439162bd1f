package script

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestConstantFormats compares string.format of a constant format, which is read once, with the same call by a variable:
// the text and the price.
func TestConstantFormats(t *testing.T) {
	run := func(call string) (reply string, steps int) {
		p, err := Compile([]byte(call))
		if err != nil {
			t.Fatal(call, err)
		}
		return string(p.Run(nil, testKeys, testArgs, newMemory())), p.Steps()
	}
	const direct, byVariable = "return string.format(%s)", "local f = 1 f = string.format return f(%s)"
	_, least := run(fmt.Sprintf(direct, "'%d', 1"))
	_, more := run(fmt.Sprintf(byVariable, "'%d', 1"))
	r := rand.New(rand.NewPCG(1, 2))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	number := func() string {
		return pick("0", "-0", "1", "-7", "0.5", "1.5", "2.5", "-2.5", "255", "1e15", "1799999999999999.5", "9007199254740993", "9.3e18", "1e300",
			"1/0", "-1/0", "0/0", "2^53 + 1", "2^63", "ARGV[1] * 1")
	}
	for range 3000 {
		directive := "%" + pick("", "", "", "-", "+", " ", "#", "0", "-+ ") + pick("", "", "5", "12") + pick("", "", ".0", ".1", ".3", ".14")
		arg := number()
		if r.IntN(4) == 0 {
			directive, arg = directive+pick("s", "q"), pick("'a'", "ARGV[2]", "'a\\0b'", "('x'):rep(120)")
		} else {
			directive += pick("d", "i", "c", "u", "x", "X", "o", "e", "E", "f", "f", "g", "G")
		}
		args := fmt.Sprintf("'%s%s%s', %s, %s", pick("", "a:", "%%"), directive, pick("", "b%d", "%%z"), arg, number())
		got, steps := run(fmt.Sprintf(direct, args))
		want, others := run(fmt.Sprintf(byVariable, args))
		if got != want || steps-least != others-more {
			t.Fatalf("string.format(%s) is %q for %d steps, by a variable %q for %d", args, got, steps-least, want, others-more)
		}
	}
}

package zset

import (
	"math"
	"testing"

	"github.com/stintdb/stint/server/command/data"
)

// Scores are read as strtod reads them, and written as %.17g.
func TestScores(t *testing.T) {
	for text, want := range map[string]string{
		"3": "3", "+3": "3", "-3.50": "-3.5", "3.3": "3.2999999999999998", ".5": "0.5", "5.": "5", "-0": "0", "0e-999": "0", "1e5": "100000",
		"1e16": "10000000000000000", "1e17": "1e+17", "123456789012345678": "1.2345678901234568e+17", "1e-4": "0.0001", "1e-5": "1.0000000000000001e-05",
		"1.7976931348623157e308": "1.7976931348623157e+308", "5e-324": "4.9406564584124654e-324", "9007199254740993": "9007199254740992",
		"inf": "inf", "-INFINITY": "-inf", "0x10": "16", "-0X.8": "-0.5", "0x1p-3": "0.125", "0x1P3": "8",
		"": "-", " 1": "-", "1 ": "-", "nan": "-", "-nan": "-", "1e": "-", "0x": "-", "0x1p": "-", "1_0": "-", "0x_1": "-", "+-1": "-", "--1": "-",
		"1e999": "-", "-1e999": "-", "1e-999": "-", "0x1p-9999": "-", "one": "-", "1\x00": "-", "in": "-", "infinityy": "-", "0b1": "-", "1p3": "-",
	} {
		got := "-"
		if f, ok := data.ParseScore([]byte(text)); ok {
			got = string(appendScore(nil, f+0))
		}
		if got != want {
			t.Errorf("%q is read as %s, want %s", text, got, want)
		}
	}
	if got := string(appendScore(nil, math.Copysign(0, -1))); got != "-0" {
		t.Errorf("-0 is written as %s", got)
	}
}

// The ends of a range are read less strictly than scores.
func TestScoreEnds(t *testing.T) {
	for text, want := range map[string]scoreEnd{
		"": {}, "(": {open: true}, " 1": {score: 1}, "(\t1": {score: 1, open: true}, "1\x00junk": {score: 1}, "1e999": {score: math.Inf(1)}, "(-inf": {math.Inf(-1), true}, "1e-999": {},
	} {
		if got, ok := readScoreEnd([]byte(text)); !ok || got != want {
			t.Errorf("%q is read as %v, %t; want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{" ", "( ", "((1", "1 ", "nan", "(nan", "[1"} {
		if got, ok := readScoreEnd([]byte(text)); ok {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}

package limits

import (
	"errors"
	"math/big"
	"strconv"
	"strings"
	"testing"
)

// printed are the ways in which programs print a number, the shortest text that is read back as it.
var printed = []struct {
	language string
	print    func(x float64) string
}{
	{"Go's %v", func(x float64) string { return exponential(x, -4, 21, "e", "+0", "-0") }},
	{"Go's strconv with 'f', and Rust", func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }},
	{"Go's strconv with 'e'", func(x float64) string { return strconv.FormatFloat(x, 'e', -1, 64) }},
	{"C's %.17g", func(x float64) string { return strconv.FormatFloat(x, 'g', 17, 64) }},
	{"Python, Ruby", func(x float64) string { return pointZero(exponential(x, -4, 16, "e", "+0", "-0")) }},
	{"JavaScript", func(x float64) string { return exponential(x, -6, 21, "e", "+", "-") }},
	{"Rust's {:?}", func(x float64) string { return pointZero(exponential(x, -5, 16, "e", "", "-")) }},
	{"Java", func(x float64) string { return javaNumber(exponential(x, -3, 7, "E", "", "-")) }},
	{"C#", func(x float64) string { return exponential(x, -5, 15, "E", "+0", "-0") }},
	{"PHP", func(x float64) string { return javaNumber(exponential(x, -4, 15, "E", "+", "-")) }},
}

// exponential prints a number with an exponent if it is below 10 to the power of least, or not below that of most. plus
// and minus stand before the exponent; a 0 in them fills it up to two digits.
func exponential(x float64, least, most int, e, plus, minus string) string {
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(x, 'e', -1, 64), "e")
	n, _ := strconv.Atoi(exponent)
	if n >= least && n < most {
		return strconv.FormatFloat(x, 'f', -1, 64)
	}
	sign := plus
	if n < 0 {
		sign, n = minus, -n
	}
	if n > 9 {
		sign = strings.TrimSuffix(sign, "0")
	}
	return mantissa + e + sign + strconv.Itoa(n)
}

// pointZero gives a whole number a .0 if it has no exponent.
func pointZero(text string) string {
	if strings.ContainsAny(text, ".e") {
		return text
	}
	return text + ".0"
}

// javaNumber gives a mantissa without decimals a .0.
func javaNumber(text string) string {
	mantissa, exponent, hasExponent := strings.Cut(text, "E")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if hasExponent {
		return mantissa + "E" + exponent
	}
	return mantissa
}

// printedNumbers are numbers from 1e-18 to 1e12 as text.
func printedNumbers() (texts []string) {
	for power := -18; power <= 12; power++ {
		for _, digits := range []string{"1", "2.5", "3.3333333333333335", "1.1574074074074073", "6.944444444444444", "9.999999999999998", "1.2"} {
			x, _ := strconv.ParseFloat(digits+"e"+strconv.Itoa(power), 64)
			for _, language := range printed {
				texts = append(texts, language.print(x))
			}
		}
	}
	return texts
}

// A printed number is read as the decimal that it states: kept exactly, or rounded down if it is too long; or it is
// beyond the bounds, and the error says so.
func TestPrintedRates(t *testing.T) {
	exponents := 0
	for _, number := range printedNumbers() {
		if strings.ContainsAny(number, "eE") {
			exponents++
		}
		for _, unit := range []string{"", "/s", "/m", "/d", "/1e-3", "/2.5e+03ms", " per hour"} {
			text := number + unit
			want := asWritten(strings.Replace(text, " per ", "/", 1))
			got, err := ParseRate(text)
			if beyond := want.Cmp(big.NewRat(1, MaxDuration)) < 0 || tokensOf(number).Cmp(big.NewRat(MaxTokens, 1)) > 0; beyond {
				if !errors.Is(err, ErrRateBounds) {
					t.Errorf("%q: %v %v, want an error about its bounds", text, got, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%q: %v", text, err)
				continue
			}
			kept := big.NewRat(got.Tokens, got.Period)
			isKept := want.Num().Cmp(big.NewInt(MaxTokens)) <= 0 && want.Denom().Cmp(big.NewInt(MaxDuration)) <= 0 && want.Denom().Cmp(big.NewInt(MinDuration)) >= 0
			if lost := new(big.Rat).Sub(want, kept); lost.Sign() < 0 || isKept && lost.Sign() > 0 || lost.Quo(lost, want).Cmp(big.NewRat(1, 1e8)) > 0 {
				t.Errorf("%q is kept as %v", text, got)
			}
		}
	}
	if exponents < 500 {
		t.Errorf("only %d numbers have an exponent", exponents)
	}
}

func tokensOf(number string) *big.Rat {
	r, _ := new(big.Rat).SetString(number)
	return r
}

func TestPrintedDurations(t *testing.T) {
	for _, number := range printedNumbers() {
		for _, unit := range durationUnits {
			for _, suffix := range append([]string{unit.suffix}, unit.words...) {
				text := number + suffix
				nanos := tokensOf(number)
				nanos.Mul(nanos, new(big.Rat).SetInt64(unit.nanos))
				isValid := nanos.IsInt() && nanos.Cmp(big.NewRat(MinDuration, 1)) >= 0 && nanos.Cmp(big.NewRat(MaxDuration, 1)) <= 0
				got, err := ParseDuration(text)
				if isValid != (err == nil) || isValid && nanos.Cmp(big.NewRat(got, 1)) != 0 {
					t.Errorf("%q: %d %v, want %s", text, got, err, nanos.RatString())
				}
				if span, window, err := ParseWindow("@" + text); isValid != (err == nil) || isValid && (span != Aligned || window != got) {
					t.Errorf("@%s: %d %v", text, window, err)
				}
			}
		}
	}
}

// Exponents of any size are read, or refused, at once and for the right reason.
func TestLongExponents(t *testing.T) {
	zeros := strings.Repeat("0", 300)
	for text, want := range map[string]error{
		"1e999999999999999999999": ErrRateBounds, "1e-999999999999999999999": ErrRateBounds, "0e5": ErrRateBounds, "1e13": ErrRateBounds, "1e-19": ErrRateBounds,
		"1e": ErrRate, "e5": ErrRate, "1e+": ErrRate, "1e5e5": ErrRate, "1e5.5": ErrRate, "1.e5": ErrRate, ".1e5": ErrRate, "1e 5": ErrRate, "1e--5": ErrRate, "-1e5": ErrRate,
		"1/1e": ErrRate, "1/1e-s": ErrRate, "1/e5": ErrRate, "1e5 ": ErrRate, "1f5": ErrRate, "1p5": ErrRate, "1/1e99999999": ErrRateBounds, "1/1e-99999999": ErrRateBounds,
		"1e5/s": nil, "1E5/s": nil, "1e+05/s": nil, "1e-05": nil, "0." + zeros + "1e301": nil, "1" + zeros + "e-300": nil, "1e0000000000000000000000000000012": nil, "5/1e3ms": nil,
		"1" + strings.Repeat("0", 1<<16) + "e-65536": nil,
	} {
		if _, err := ParseRate(text); !errors.Is(err, want) {
			t.Errorf("%.40q: %v, want %v", text, err, want)
		}
	}
	for text, want := range map[string]int64{"1e3": 1000 * sec, "1.5e1m": 900 * sec, "2.5E-1h": 900 * sec, "1e-3": ms, "1e+02ms": 100 * ms, "1" + zeros + "e-300": sec, "36e5ms": 3600 * sec,
		"1e-4": 0, "1e9": 0, "1e999999999999": 0, "1e-999999999999": 0, "1e": 0, "1e5e5": 0} {
		if got, err := ParseDuration(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%.40q: %d %v, want %d", text, got, err, want)
		}
	}
}

package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// size is a number of bytes, written as in redis.conf.
type size[T int | int64] struct {
	field    *T
	min, max T
	zero     string // what 0 means; "" if 0 is not allowed
}

func (v *size[T]) String() string { return FormatSize(int64(*v.field)) }
func (v *size[T]) Type() string   { return "size" }
func (v *size[T]) plain() string  { return strconv.FormatInt(int64(*v.field), 10) }

func (v *size[T]) Allowed() string {
	text := fmt.Sprintf("a size between %s and %s, such as 64kb or 1gb", FormatSize(int64(v.min)), FormatSize(int64(v.max)))
	if v.max < 64<<10 {
		text = fmt.Sprintf("a size between %d and %d bytes, such as 4kb", v.min, v.max)
	}
	if v.zero != "" {
		text += ", or 0 for " + v.zero
	}
	return text
}

func (v *size[T]) Set(text string) error {
	n, ok := ParseSize(text)
	zero := n == 0 && v.zero != ""
	if !ok || !zero && (n < int64(v.min) || n > int64(v.max)) {
		return must(v.Allowed())
	}
	*v.field = T(n)
	return nil
}

var sizeUnits = []struct {
	suffix string
	bytes  int64
}{
	{"tb", 1 << 40}, {"gb", 1 << 30}, {"mb", 1 << 20}, {"kb", 1 << 10},
	{"t", 1e12}, {"g", 1e9}, {"m", 1e6}, {"k", 1e3},
	{"b", 1}, {"", 1},
}

// ParseSize parses a number of bytes as in redis.conf, in lower or upper case: 1kb is 1024 bytes, 1k is 1000, and
// likewise for m, g and t; a bare number is bytes. It reports false for anything else, such as a sign, decimals or
// spaces, and for more than 2^63-1 bytes.
func ParseSize(text string) (int64, bool) {
	lower := strings.ToLower(text)
	for _, unit := range sizeUnits {
		digits, found := strings.CutSuffix(lower, unit.suffix)
		if !found {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || int64(n) > math.MaxInt64/unit.bytes {
			return 0, false
		}
		return int64(n) * unit.bytes, true
	}
	return 0, false
}

// FormatSize formats a number of bytes for [ParseSize], in the largest binary unit that divides it.
func FormatSize(bytes int64) string {
	for _, unit := range sizeUnits[:4] {
		if bytes != 0 && bytes%unit.bytes == 0 {
			return strconv.FormatInt(bytes/unit.bytes, 10) + unit.suffix
		}
	}
	return strconv.FormatInt(bytes, 10)
}

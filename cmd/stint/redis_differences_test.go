//go:build e2e

package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// difference is one on purpose between the replies of the two servers.
type difference struct {
	about    string
	explains func(words []string, redis, stint string) bool
}

// differences is all of them.
var differences = []difference{{
	"a key expires in the year 2262 at the latest",
	func(words []string, redis, stint string) bool {
		const lastMillis = math.MaxInt64 / 1_000_000
		at, now := number(stint), time.Now().UnixMilli()
		switch strings.ToUpper(words[0]) {
		case "TTL":
			at = 1000*at + now
		case "PTTL":
			at += now
		case "EXPIRETIME":
			at *= 1000
		case "PEXPIRETIME":
		default: // of two such times, neither is the greater
			far := slices.ContainsFunc(words, func(w string) bool { n, _ := strconv.ParseInt(w, 10, 64); return n >= farTime })
			return far && strings.Contains(strings.ToUpper(words[0]), "EXPIRE")
		}
		return number(redis) > number(stint) && at >= lastMillis-1000*clockTolerance
	},
}, {
	"a string has at most 1 MiB",
	func(_ []string, redis, stint string) bool {
		return strings.HasPrefix(redis, "-ERR string exceeds maximum allowed size") && strings.HasPrefix(stint, "-ERR value: at most")
	},
}, {
	"a reply in which one value can be many times has at most 2 MiB",
	func(_ []string, redis, stint string) bool { return strings.HasPrefix(stint, "-ERR reply: more than") },
}, {
	"ZSCAN of a set that was large writes whole scores from 10^17 on as 1e+17",
	func(words []string, redis, stint string) bool {
		digits := func(reply string) string {
			return largeScore.ReplaceAllStringFunc(reply, func(text string) string {
				_, text, _ = strings.Cut(text, "\r\n")
				f, _ := strconv.ParseFloat(strings.TrimSpace(text), 64)
				text = fmt.Sprint(f)
				return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
			})
		}
		return strings.EqualFold(words[0], "ZSCAN") && sameScan(digits(redis), digits(stint))
	},
}, {
	"an error quotes at most 64 bytes of an argument, and shows bytes that are not printable as \\xff",
	func(_ []string, redis, stint string) bool {
		const begin = "-ERR Unsupported option "
		return strings.HasPrefix(redis, begin) && strings.HasPrefix(stint, begin)
	},
}, {
	"a score of -0 is stored as 0, which Redis does in small sorted sets",
	func(words []string, redis, stint string) bool {
		zero := strings.NewReplacer("$2\r\n-0\r\n", "$1\r\n0\r\n", ",-0\r\n", ",0\r\n")
		return strings.HasPrefix(strings.ToUpper(words[0]), "Z") && zero.Replace(redis) == zero.Replace(stint)
	},
}}

// largeScore is a score that is written in two ways.
var largeScore = regexp.MustCompile(`\$\d+\r\n(-?\d{17,}|-?[\d.]+e\+1\d)\r\n`)

// clockTolerance is how much later one server may carry out a command than the other, in seconds: expiries are a minute
// apart.
const clockTolerance = 20

// equal reports whether replies that are not the same bytes count as the same.
func (c comparison) equal(redis, stint string) bool {
	switch c {
	case unordered:
		return slices.Equal(sortedElements(redis, 1), sortedElements(stint, 1))
	case pairs:
		return slices.Equal(sortedElements(redis, 2), sortedElements(stint, 2))
	case seconds:
		return nearly(redis, stint, clockTolerance)
	case milliseconds:
		return nearly(redis, stint, 1000*clockTolerance)
	case chance:
		return slices.Equal(shape(redis), shape(stint))
	case scanned:
		return sameScan(redis, stint)
	case encoding:
		return slices.Contains(encodings, redis) && slices.Contains(encodings, stint)
	}
	return false
}

// encodings is the replies of OBJECT ENCODING.
var encodings = []string{"$3\r\nraw\r\n", "$3\r\nint\r\n", "$6\r\nembstr\r\n", "$8\r\nlistpack\r\n", "$9\r\nhashtable\r\n", "$8\r\nskiplist\r\n", "$9\r\nquicklist\r\n", "$6\r\nintset\r\n"}

// shape is the types in a reply and the lengths of its arrays; of an error all of it.
func shape(reply string) (types []string) {
	if all := elements(reply); all != nil {
		head, _, _ := strings.Cut(reply, "\n")
		types = append(types, head)
		for _, e := range all {
			types = append(types, shape(e)...)
		}
		return types
	}
	if reply[0] == '-' || reply[0] == '_' || strings.HasPrefix(reply, "$-") {
		return []string{reply}
	}
	return []string{reply[:1]}
}

// sameScan reports whether two steps through a collection are the same but for the order. Redis takes several steps through a large one, and Stint one.
func sameScan(redis, stint string) bool {
	a, b := elements(redis), elements(stint)
	if len(a) != 2 || len(b) != 2 || b[0] != "$1\r\n0\r\n" {
		return false
	}
	return a[0] != b[0] || slices.Equal(sortedElements(a[1], 1), sortedElements(b[1], 1))
}

// sortedElements is the elements of an array, in groups of this number, in the order of their bytes. A reply of another kind
// is one element.
func sortedElements(reply string, size int) (groups []string) {
	all := elements(reply)
	if len(all)%size != 0 || len(all) == 0 {
		return []string{reply}
	}
	for group := range slices.Chunk(all, size) {
		groups = append(groups, strings.Join(group, ""))
	}
	slices.Sort(groups)
	return append(groups, reply[:1])
}

// nearly reports whether two replies are times that differ little.
func nearly(redis, stint string, tolerance int64) bool {
	a, b := number(redis), number(stint)
	return a > 0 && b > 0 && max(a-b, b-a) <= tolerance
}

// number is the number in an integer reply, 0 if it is another.
func number(reply string) int64 {
	if reply[0] != ':' {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(reply[1:]), 10, 64)
	return n
}

//go:build e2e

package main

import (
	"math"
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
	}
	return false
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

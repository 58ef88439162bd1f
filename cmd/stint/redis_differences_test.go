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
	with     string // the server, empty for all
	explains func(words []string, redis, stint string) bool
}

// differences is all of them.
var differences = []difference{{
	about: "a key expires in the year 2262 at the latest",
	explains: func(words []string, redis, stint string) bool {
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
	about: "a string has at most 1 MiB",
	explains: func(_ []string, redis, stint string) bool {
		return strings.HasPrefix(redis, "-ERR string exceeds maximum allowed size") && strings.HasPrefix(stint, "-ERR value: at most")
	},
}, {
	about: "the name of an unknown subcommand is quoted like a text, and Redis writes its bytes as they are, up to a zero",
	explains: func(_ []string, redis, stint string) bool {
		const unknown = "-ERR unknown subcommand '"
		return strings.HasPrefix(redis, unknown) && strings.HasPrefix(stint, unknown) && strings.Contains(stint, `\x`)
	},
}, {
	about: "a script that reads scores in RESP3 sees -0, which is 0 in Redis's small sorted sets",
	explains: func(words []string, redis, stint string) bool {
		return strings.EqualFold(words[0], "EVAL") && bulkText(redis) == strings.ReplaceAll(bulkText(stint), "double number -0}", "double number 0}")
	},
}, {
	about: "Redis 7.0 negates the smallest RANK of LPOS, which has no positive counterpart",
	explains: func(words []string, _, _ string) bool {
		return strings.EqualFold(words[0], "LPOS") && slices.Contains(words, fmt.Sprint(math.MinInt64))
	},
}, {
	with:  valkey,
	about: "Valkey 8 reads cursors otherwise",
	explains: func(words []string, redis, stint string) bool {
		const refused = "-ERR invalid cursor\r\n"
		return strings.HasSuffix(strings.ToUpper(words[0]), "SCAN") && (redis == refused || stint == refused)
	},
}, {
	with:  valkey,
	about: "scores have as few digits as tell them apart since Redis 7.2, and 17 in Redis 7.0",
	explains: func(words []string, redis, stint string) bool {
		redis, stint = numbersAlike(redis), numbersAlike(stint)
		return strings.HasPrefix(strings.ToUpper(words[0]), "Z") && (redis == stint || sameScan(redis, stint))
	},
}, {
	with:  valkey,
	about: "a negative offset of LIMIT is none in large sets of Valkey",
	explains: func(words []string, _, _ string) bool {
		at := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, "LIMIT") })
		return strings.HasPrefix(strings.ToUpper(words[0]), "Z") && at >= 0 && at+1 < len(words) && strings.HasPrefix(words[at+1], "-")
	},
}, {
	with:  valkey,
	about: "Valkey checks a time to live before it looks at the key",
	explains: func(words []string, redis, stint string) bool {
		return strings.EqualFold(words[0], "GETEX") && redis[0] == '-'
	},
}, {
	about: "HSCAN, SSCAN and ZSCAN return all whatever the cursor is, as Redis does with small data",
	explains: func(words []string, redis, stint string) bool {
		return strings.HasSuffix(strings.ToUpper(words[0]), "SCAN") && len(words) > 2 && strings.Trim(words[2], "+-0") != "" && len(elements(redis)) == len(elements(stint))
	},
}, {
	about:    "a reply in which one value can be many times has at most 2 MiB",
	explains: func(_ []string, redis, stint string) bool { return strings.HasPrefix(stint, "-ERR reply: more than") },
}, {
	about: "ZSCAN of a set that was large writes whole scores from 10^17 on as 1e+17",
	explains: func(words []string, redis, stint string) bool {
		return strings.EqualFold(words[0], "ZSCAN") && sameScan(numbersAlike(redis), numbersAlike(stint))
	},
}, {
	about: "an error quotes at most 64 bytes of an argument, and shows bytes that are not printable as \\xff",
	explains: func(_ []string, redis, stint string) bool {
		const begin = "-ERR Unsupported option "
		return strings.HasPrefix(redis, begin) && strings.HasPrefix(stint, begin)
	},
}, {
	about: "a score of -0 is stored as 0, which Redis does in small sorted sets",
	explains: func(words []string, redis, stint string) bool {
		zero := strings.NewReplacer("$2\r\n-0\r\n", "$1\r\n0\r\n", ",-0\r\n", ",0\r\n")
		return strings.HasPrefix(strings.ToUpper(words[0]), "Z") && zero.Replace(redis) == zero.Replace(stint)
	},
}}

// anyScore is a number in a reply that is not whole, or too large to be written as such by all.
var anyScore = regexp.MustCompile(`(\$\d+\r\n|,)(-0|-?\d{16,}|-?\d+\.\d+|-?[\d.]+e[+-]\d+)\r\n`)

// numbersAlike is a reply with its scores written in one way.
func numbersAlike(reply string) string {
	return anyScore.ReplaceAllStringFunc(reply, func(element string) string {
		text := strings.TrimSuffix(element, "\r\n")
		if text[0] == '$' {
			_, text, _ = strings.Cut(text, "\r\n")
		}
		f, _ := strconv.ParseFloat(strings.TrimPrefix(text, ","), 64)
		if text = fmt.Sprint(f + 0); element[0] == ',' {
			return "," + text + "\r\n"
		}
		return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text)
	})
}

// readOtherwise reports whether Valkey reads a command otherwise than Redis 7.0, so that the two have other data from
// there on: it takes fewer words for scores, an option more of ZRANK, a number less in LREM and LPOS, and of an index
// in a small list the lowest 32 bits.
func readOtherwise(words []string) bool {
	switch name := strings.ToUpper(words[0]); {
	case name == "COMMAND": // Valkey says that it overwrites the result
		return slices.Contains(words, "SINTERSTORE")
	case name == "EVAL" && strings.Contains(words[1], "'ZADD'"):
		return readOtherwise(append([]string{"ZADD"}, words[3:]...))
	case name == "LSET" || name == "LINDEX":
		return len(words) > 2 && len(words[2]) > 9
	case name == "LREM" || name == "LPOS":
		return slices.Contains(words, fmt.Sprint(math.MinInt64))
	case name == "ZRANK" || name == "ZREVRANK":
		return len(words) > 3
	default:
		return name[0] == 'Z' && slices.ContainsFunc(words[1:], func(w string) bool {
			return strings.ContainsAny(w, "xX \t\x00\r\n") || w == "" || w == "(" || strings.HasPrefix(strings.ToLower(w), "nan")
		})
	}
}

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

// sameScan reports whether two steps through a collection are the same except for the order. Redis takes several steps
// through a large one, and Stint one.
func sameScan(redis, stint string) bool {
	a, b := elements(redis), elements(stint)
	if len(a) != 2 || len(b) != 2 || b[0] != "$1\r\n0\r\n" {
		return false
	}
	return a[0] != b[0] || slices.Equal(sortedElements(a[1], 1), sortedElements(b[1], 1))
}

// sortedElements is the elements of an array, in groups of this number, in the order of their bytes. A reply of another
// kind is one element.
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

// bulkText is the text of a bulk string.
func bulkText(reply string) string {
	_, text, _ := strings.Cut(reply, "\r\n")
	return text
}

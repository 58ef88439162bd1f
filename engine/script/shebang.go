package script

import (
	"errors"
	"strings"
)

// shebang is a first line that begins with "#!lua", as in Redis 7.
type shebang struct{ isThere, noWrites bool }

// NoWrites reports whether the script's first line has the flag no-writes: its calls of commands that write are
// refused.
func (p *Program) NoWrites() bool { return p.shebang.noWrites }

// DeclaresWrites reports whether the script's first line has flags, and no-writes is not among them.
func (p *Program) DeclaresWrites() bool { return p.shebang.isThere && !p.shebang.noWrites }

// cutShebang replaces a shebang by an empty line. Of the flags that Redis knows, only no-writes has an effect; others
// are errors.
func cutShebang(source string) (rest string, first shebang, err error) {
	if !strings.HasPrefix(source, "#!") {
		return source, first, nil
	}
	line, rest, found := strings.Cut(source, "\n")
	if !found {
		return "", first, errors.New("ERR Invalid script shebang")
	}
	words := strings.Fields(line)
	if words[0] != "#!lua" {
		return "", first, errors.New("ERR Unexpected engine in script shebang: " + words[0])
	}
	first.isThere = true
	for _, word := range words[1:] {
		flags, is := strings.CutPrefix(word, "flags=")
		if !is {
			return "", first, errors.New("ERR Unknown lua shebang option: " + word)
		}
		if flags == "" {
			continue
		}
		for flag := range strings.SplitSeq(flags, ",") {
			switch flag {
			case "no-writes":
				first.noWrites = true
			case "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys", "allow-key-locking": // the last is Upstash's
			default:
				return "", first, errors.New("ERR Unexpected flag in script shebang: " + flag)
			}
		}
	}
	return "\n" + rest, first, nil
}

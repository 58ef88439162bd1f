package command

import (
	"strings"

	"github.com/stintdb/stint/engine"
)

// Access is the use that a command makes of a key, and so the permission on it that a user needs.
type Access uint8

// The kinds of access. Redis's key specifications call Reads ACCESS, and Changes INSERT, UPDATE or DELETE.
const (
	Reads   Access = 1 << iota // returns data of the key, or uses it: %R
	Changes                    // %W; a limiter's decision is the answer to a change
)

// Keys says which arguments are keys, counted from 1, and how they are used; Last counts from the end when negative. The zero
// value is none.
type Keys struct {
	First, Last int
	Number      int  // the argument with the number of keys, which follow it; First is then a key in front of it, or 0
	Pairs       bool // every second argument from the first key on is one

	Access Access // to the first key, and to the others without an Others
	Others Access
}

// The usual keys. With PEEK, and wherever a limiter's operation does not write, a change is a read.
var (
	readKey      = Keys{First: 1, Last: 1, Access: Reads}
	changedKey   = Keys{First: 1, Last: 1, Access: Changes}
	usedKey      = Keys{First: 1, Last: 1, Access: Reads | Changes}
	readKeys     = Keys{First: 1, Last: -1, Access: Reads}
	changedKeys  = Keys{First: 1, Last: -1, Access: Changes}
	storedKey    = Keys{First: 1, Last: -1, Access: Changes, Others: Reads} // made of the others
	changedPairs = Keys{First: 1, Last: -1, Pairs: true, Access: Changes}
	movedKey     = Keys{First: 1, Last: 2, Access: Reads | Changes, Others: Changes}
)

// mustHaveAccess ends the process at its start if a command does not say how it uses its keys: users could do it without the permission.
func (r *Row) mustHaveAccess() {
	all := r.Keys.Access | r.Keys.Others
	says := r.Keys.Access != 0 && (r.Flags&Write != 0) == (all&Changes != 0)
	if r.Parse != nil && r.Keys != (Keys{}) && !says {
		panic("command: " + strings.ToUpper(r.FullName) + " does not say whether it reads or changes its keys, or contradicts its flags; see Access in access.go")
	}
}

// access returns the use that a command on data makes of its key number i.
func (r *Row) access(args [][]byte, i int) Access {
	switch {
	case i > 0 && r.Keys.Others != 0:
		return r.Keys.Others
	case i == 0 && r.AlsoReads != nil && r.AlsoReads(args):
		return r.Keys.Access | Reads
	}
	return r.Keys.Access
}

// AccessOf returns the use that an operation makes of its keys; of a Command or Script, that of its declared key number i. EVAL may
// change keys; those that the user may not read are marked by [engine.WriteOnly].
func AccessOf(op *engine.Op, i int) Access {
	switch {
	case op.Verb == engine.Command:
		return rowOf(op.Args).access(op.Args, i)
	case !op.Writes():
		return Reads
	case op.Verb == engine.Acquire && op.Tokens == 0: // it only asks how many are left
		return Reads | Changes
	}
	return Changes
}

// keyRange is the positions of keys among arguments: from is the first, to is behind the last.
type keyRange struct {
	from, to, step int
	first          int // a key in front of these, 0 for none
}

// in returns the keys among arguments.
func (r keyRange) in(args [][]byte) (keys [][]byte) {
	to := min(r.to, len(args))
	if r.step == 1 && r.first == 0 {
		return args[r.from:to]
	}
	if r.first > 0 {
		keys = append(keys, args[r.first])
	}
	for at := r.from; at < to; at += r.step {
		keys = append(keys, args[at])
	}
	return keys
}

// of returns which arguments are keys; none if their number is no number, which the command will refuse.
func (k Keys) of(args [][]byte) keyRange {
	n, r := len(args), keyRange{step: 1}
	if k.Pairs {
		r.step = 2
	}
	switch {
	case k.Number > 0:
		count, ok := parseRedisInt(args[k.Number])
		if !ok || count < 1 || count > int64(n-k.Number-1) {
			r.from, r.to = n, n
		} else {
			r.from, r.to, r.first = k.Number+1, k.Number+1+int(count), k.First
		}
	case k.First == 0:
	case k.Last < 0:
		r.from, r.to = k.First, max(k.First, n+k.Last+1)
	default:
		r.from, r.to = k.First, k.Last+1
	}
	return r
}

// step is the number of arguments from key to key, 0 for none.
func (k Keys) step() int {
	if k.Pairs {
		return 2
	}
	return min(k.First, 1)
}

// lastShown is the last key as COMMAND has it. Of keys at several places, which clients find by COMMAND GETKEYS, it is the first one.
func (k Keys) lastShown() int {
	if k.Number > 0 {
		return k.First
	}
	return k.Last
}

package command

import (
	"math"
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
	ReadKey      = Keys{First: 1, Last: 1, Access: Reads}
	ChangedKey   = Keys{First: 1, Last: 1, Access: Changes}
	UsedKey      = Keys{First: 1, Last: 1, Access: Reads | Changes}
	ReadKeys     = Keys{First: 1, Last: -1, Access: Reads}
	ChangedKeys  = Keys{First: 1, Last: -1, Access: Changes}
	StoredKey    = Keys{First: 1, Last: -1, Access: Changes, Others: Reads} // made of the others
	ChangedPairs = Keys{First: 1, Last: -1, Pairs: true, Access: Changes}
	MovedKey     = Keys{First: 1, Last: 2, Access: Reads | Changes, Others: Changes}
)

// mustHaveAccess ends the process at its start if a command does not say how it uses its keys: users could do it without the permission.
func (r *Row) mustHaveAccess() {
	all := r.Keys.Access | r.Keys.Others
	says := r.Keys.Access != 0 && (r.Flags&Write != 0) == (all&Changes != 0)
	if r.Parse != nil && r.Keys != (Keys{}) && !says {
		panic("command: " + strings.ToUpper(r.FullName) + " does not say whether it reads or changes its keys, or contradicts its flags; see Access in access.go")
	}
}

// Access returns the use that a command on data makes of its key number i.
func (r *Row) Access(args [][]byte, i int) Access {
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
		return RowOf(op.Args).Access(op.Args, i)
	case !op.Writes():
		return Reads
	case op.Verb == engine.Acquire && op.Tokens == 0: // it only asks how many are left
		return Reads | Changes
	}
	return Changes
}

// keyRange is the positions of keys among arguments: from is the first, to is behind the last.
type keyRange struct {
	From, To, step int
	First          int // a key in front of these, 0 for none
}

// In returns the keys among arguments.
func (r keyRange) In(args [][]byte) (keys [][]byte) {
	to := min(r.To, len(args))
	if r.step == 1 && r.First == 0 {
		return args[r.From:to]
	}
	if r.First > 0 {
		keys = append(keys, args[r.First])
	}
	for at := r.From; at < to; at += r.step {
		keys = append(keys, args[at])
	}
	return keys
}

// Of returns which arguments are keys; none if their number is no number, which the command will refuse.
func (k Keys) Of(args [][]byte) keyRange {
	n, r := len(args), keyRange{step: 1}
	if k.Pairs {
		r.step = 2
	}
	switch {
	case k.Number > 0:
		count, ok := ParseRedisInt(args[k.Number])
		if !ok || count < 1 || count > int64(n-k.Number-1) {
			r.From, r.To = n, n
		} else {
			r.From, r.To, r.First = k.Number+1, k.Number+1+int(count), k.First
		}
	case k.First == 0:
	case k.Last < 0:
		r.From, r.To = k.First, max(k.First, n+k.Last+1)
	default:
		r.From, r.To = k.First, k.Last+1
	}
	return r
}

// Step is the number of arguments from key to key, 0 for none.
func (k Keys) Step() int {
	if k.Pairs {
		return 2
	}
	return min(k.First, 1)
}

// LastShown is the last key as COMMAND has it. Of keys at several places, which clients find by COMMAND GETKEYS, it is the first one.
func (k Keys) LastShown() int {
	if k.Number > 0 {
		return k.First
	}
	return k.Last
}

// InScripts reports whether scripts may call a command.
func (r *Row) InScripts() bool {
	return r.Flags&NotInScripts == 0 && (r.Data != 0 || r.Parse != nil && r.Group == "limiter" && r.FullName == r.Name)
}

// NamesItsKeys reports whether all keys of a command are among its arguments, at places that the row states.
func (r *Row) NamesItsKeys() bool {
	return (r.Flags&MovableKeys == 0 || r.Keys.Number > 0) && !(r.Keys == Keys{} && r.touchesAllKeys())
}

// touchesAllKeys reports whether a command looks at keys that no argument names.
func (r *Row) touchesAllKeys() bool {
	return r.Group == "generic" || r.Group == "server" && r.Name != "time"
}

// KeysOf returns the keys among a command's arguments; none if an error in the arguments hides movable keys.
func (r *Row) KeysOf(args [][]byte) (keys [][]byte) {
	if r.Flags&MovableKeys != 0 {
		request := Request{Args: args, Bounds: Bounds{MaxKeyBytes: math.MaxInt, MaxLogLimit: math.MaxInt}}
		if r.Parse(&request) == nil {
			op := request.Ops[0].Request()
			for _, part := range op.Parts {
				keys = append(keys, part.Key)
			}
			if op != &request.Ops[0] {
				keys = append(keys, request.Ops[0].Key) // the id
			}
			keys = append(keys, op.DeclaredKeys()...)
		}
		return keys
	}
	return r.Keys.Of(args).In(args)
}

// ChannelsOf returns the arguments that are channels which a user needs a right to.
func (r *Row) ChannelsOf(args [][]byte) [][]byte {
	switch r.Name {
	case "publish":
		return args[1:2]
	case "subscribe":
		return args[1:]
	}
	return nil
}

// NeedsConnection reports whether the row makes no sense in a request without a connection in RESP.
func (r *Row) NeedsConnection() bool {
	const kinds, notQueued = Connection | PubSub, NoMulti | NotInMulti
	return r.Flags&kinds != 0 && r.Flags&notQueued != 0 || r.FullName == "monitor"
}

// AllowedSubscribed reports whether a connection in RESP2 may use the row while it is subscribed to channels.
func (r *Row) AllowedSubscribed() bool {
	switch r.FullName {
	case "subscribe", "unsubscribe", "ping", "quit", "reset":
		return true
	}
	return false
}

// IsClient reports whether the row is a subcommand of CLIENT.
func (r *Row) IsClient() bool { return strings.HasPrefix(r.FullName, "client|") }

// ReadsKeys reports whether the command, or a script that it runs, may read keys that it names.
func (r *Row) ReadsKeys() bool { return r.Flags&ReadOnly != 0 || r.Cost == ScriptRun }

// ScriptCommands lists the commands that scripts may call, and that may allows, as [engine.Op.Who] of a Script has them.
// It is nil if may allows all.
func ScriptCommands(may func(*Row) bool) []byte {
	list, all := []byte("-"), true // no command's name, so that a list of none is not empty
	for _, row := range All {
		switch {
		case !row.InScripts():
		case may(row):
			list = append(append(list, ' '), row.FullName...)
		default:
			all = false
		}
	}
	if all {
		return nil
	}
	return list
}

// ClientCaching is the full name of CLIENT CACHING, which decides whether the keys that the next command reads are tracked.
const ClientCaching = "client|caching"

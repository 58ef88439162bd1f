package command

import (
	"math"
	"strings"

	"github.com/stintdb/stint/engine"
)

// Access says how a command uses a key, and so which permission on the key a user needs.
type Access uint8

// The kinds of access. Redis's key specifications call Reads ACCESS, and Changes INSERT, UPDATE or DELETE.
const (
	Reads   Access = 1 << iota // the reply or the result depends on the key's data: %R
	Changes                    // %W; includes the decision of a limiter, which is the reply to a change
)

// Keys says which arguments of a command are keys, and how the command uses them. Positions count from 1; a negative
// Last counts from the end. The zero value stands for no keys.
type Keys struct {
	First, Last int
	Number      int    // the argument that says how many keys follow it; First is then a key before it, or 0
	Pairs       bool   // keys alternate with values
	After       string // the option after which keys come, and then as many other arguments

	Access Access // to the first key, and to all keys if Others is 0
	Others Access // to the other keys
}

// The usual keys. If a limiter's operation does not write, as with PEEK, it needs Reads in place of Changes.
var (
	ReadKey      = Keys{First: 1, Last: 1, Access: Reads}
	ChangedKey   = Keys{First: 1, Last: 1, Access: Changes}
	UsedKey      = Keys{First: 1, Last: 1, Access: Reads | Changes}
	ReadKeys     = Keys{First: 1, Last: -1, Access: Reads}
	ChangedKeys  = Keys{First: 1, Last: -1, Access: Changes}
	NumberedKeys = Keys{Number: 1, Access: Reads}
	StoredKey    = Keys{First: 1, Last: -1, Access: Changes, Others: Reads} // its data is computed from the others
	ChangedPairs = Keys{First: 1, Last: -1, Pairs: true, Access: Changes}
	MovedKey     = Keys{First: 1, Last: 2, Access: Reads | Changes, Others: Changes}
)

// mustHaveAccess panics at startup if a command does not say how it uses its keys: users could run it without the
// permission.
func (r *Row) mustHaveAccess() {
	all := r.Keys.Access | r.Keys.Others
	says := r.Keys.Access != 0 && (r.Flags&Write != 0) == (all&Changes != 0)
	if r.Parse != nil && r.Keys != (Keys{}) && !says {
		panic("command: " + strings.ToUpper(r.FullName) + " does not say whether it reads or changes its keys, or contradicts its flags; see Access in access.go")
	}
}

// Access returns how a command on data uses its i-th key.
func (r *Row) Access(args [][]byte, i int) Access {
	switch {
	case i > 0 && r.Keys.Others != 0:
		return r.Keys.Others
	case i == 0 && r.AlsoReads != nil && r.AlsoReads(args):
		return r.Keys.Access | Reads
	}
	return r.Keys.Access
}

// FlagsOfKey returns the flags of the i-th key in Redis's key specifications. They follow from the access to the key
// unless the row states them; a row may state others, after a comma, for the keys after the first. A command that
// overwrites its key, but with these arguments also reads it, has the flags of a command that updates the key.
func (r *Row) FlagsOfKey(args [][]byte, i int) []string {
	access := r.Access(args, i)
	first, others, several := strings.Cut(r.KeyFlags, ", ")
	flags := first
	if several && i > 0 {
		flags = others
	}
	switch {
	case flags != "" && (access&Reads == 0 || !strings.HasPrefix(flags, "OW")):
	case r.Flags&Write == 0:
		flags = "RO access"
	case access == Changes:
		flags = "RW update"
	default:
		flags = "RW access update"
	}
	return strings.Fields(flags)
}

// AccessOf returns how an operation uses its keys; for a Command or Script, how it uses its i-th declared key. EVAL may
// change keys; keys that the user may not read are marked by [engine.WriteOnly].
func AccessOf(op *engine.Op, i int) Access {
	switch {
	case op.Verb == engine.Command:
		return RowOf(op.Args).Access(op.Args, i)
	case !op.Writes():
		return Reads
	case op.Verb == engine.Acquire && op.Tokens == 0: // only asks how many tokens are left
		return Reads | Changes
	}
	return Changes
}

// keyRange is the positions of keys among arguments, from From up to but not including To.
type keyRange struct {
	From, To, step int
	First          int // a key before these, 0 for none
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

// Of returns which arguments are keys. If the number of keys is invalid it returns none, and the command will be
// refused.
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
	case k.After != "":
		r.From, r.To = k.after(args)
	case k.First == 0:
	case k.Last < 0:
		r.From, r.To = k.First, max(k.First, n+k.Last+1)
	default:
		r.From, r.To = k.First, k.Last+1
	}
	return r
}

// after returns where the keys after an option begin and end. Other options before it have one value each.
func (k Keys) after(args [][]byte) (from, to int) {
	for at := 1; at < len(args); at += 2 {
		if IsWord(args[at], k.After) {
			return at + 1, at + 1 + (len(args)-at-1)/2
		}
	}
	return len(args), len(args)
}

// Step is the distance between two keys in the arguments, 0 if there are no keys.
func (k Keys) Step() int {
	if k.Pairs {
		return 2
	}
	return min(k.First, 1)
}

// LastShown is the last key as COMMAND shows it. If the arguments say how many keys there are, it is the first one:
// clients find the others by COMMAND GETKEYS.
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

// NamesItsKeys reports whether all keys that a command uses are arguments whose positions the row states.
func (r *Row) NamesItsKeys() bool {
	return (r.Flags&MovableKeys == 0 || r.Keys.Number > 0 || r.Keys.After != "") && !(r.Keys == Keys{} && r.touchesAllKeys())
}

// touchesAllKeys reports whether a command looks at keys that no argument names.
func (r *Row) touchesAllKeys() bool {
	return r.Group == "generic" || r.Group == "server" && r.Flags&Harmless == 0
}

// KeysOf returns the keys among a command's arguments. If they are movable and the arguments are wrong, it returns
// none.
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

// ChannelsOf returns the arguments that are channels for which a user needs permission.
func (r *Row) ChannelsOf(args [][]byte) [][]byte {
	switch r.Name {
	case "publish":
		return args[1:2]
	case "subscribe":
		return args[1:]
	}
	return nil
}

// NeedsConnection reports whether a command makes sense only on a RESP connection.
func (r *Row) NeedsConnection() bool {
	const kinds, notQueued = Connection | PubSub, NoMulti | NotInMulti
	return r.Flags&kinds != 0 && r.Flags&notQueued != 0 || r.FullName == "monitor"
}

// AllowedSubscribed reports whether a RESP2 connection that is subscribed to channels may use the command.
func (r *Row) AllowedSubscribed() bool {
	switch r.FullName {
	case "subscribe", "unsubscribe", "ping", "quit", "reset":
		return true
	}
	return false
}

// IsClient reports whether the row is a subcommand of CLIENT.
func (r *Row) IsClient() bool { return strings.HasPrefix(r.FullName, "client|") }

// ReadsKeys reports whether the command, or a script that it runs, may read its keys.
func (r *Row) ReadsKeys() bool { return r.Flags&ReadOnly != 0 || r.Cost == ScriptRun }

// ScriptCommands lists the commands that scripts may call and that may permits, in the format of [engine.Op.Who]. It is
// nil if may permits all of them.
func ScriptCommands(may func(*Row) bool) []byte {
	list, all := []byte("-"), true // "-" is no command, and keeps an empty list from being nil
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

// ClientCaching is the full name of CLIENT CACHING, which says whether the keys read by the next command are tracked.
const ClientCaching = "client|caching"

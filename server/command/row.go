package command

import (
	"strings"
	"unsafe"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/resp"
)

// Flag is a property of a command, as COMMAND reports it.
type Flag uint32

// The flags.
const (
	Write        Flag = 1 << iota // may change state
	ReadOnly                      // looks at state
	Fast                          // takes constant time
	Admin                         // for operators
	NoMulti                       // not queued between MULTI and EXEC: carried out at once
	NotInMulti                    // refused between MULTI and EXEC
	Blocking                      // may delay its reply
	Connection                    // about the connection itself
	Dangerous                     // not for every user
	MovableKeys                   // its arguments say which of them are keys
	Decides                       // grants or denies
	NoAuth                        // for every user, and without authentication
	Transaction                   // about MULTI … EXEC
	Harmless                      // reveals no data of users
	NotInScripts                  // scripts may not call it
	PubSub                        // about channels and messages
	AllKeys                       // concerns all keys of a database, although its group is not generic
	Observes                      // looks at the server's state and at no keys
	DenyOOM                       // may need more memory
	ByVersion                     // the reply depends on the server's version: a script that has called it may not write
)

// Row describes one command. Arity and the argument tree of COMMAND DOCS come from Syntax.
type Row struct {
	Name      string // lower case, without the container's name
	Syntax    string // lower-case words are values, upper-case words are literal; [optional], a | b, and ... repeats
	Summary   string
	Returns   string // the reply if there is no error, in Markdown; empty if it is as in Redis
	Example   string // the arguments of a call, for docs/commands.md and for server.TestAccess, which explains its names
	Since     string // the first version that has it, if not FirstVersion
	Group     string
	Flags     Flag
	Cost      Cost
	Keys      Keys
	KeyFlags  string                   // see FlagsOfKey; empty if they follow from Keys
	AlsoReads func(args [][]byte) bool // whether, with these arguments, the command reads its first key although Keys does not say so

	Parse    func(r *Request) error                                         // limiter commands: appends to r.Ops
	Reply    func(w *resp.Writer, ops []engine.Op, results []engine.Result) // limiter commands: replies to r.Ops
	Run      func(s Session, w *resp.Writer, args [][]byte)                 // all other commands
	Data     int                                                            // data commands, and commands within a script: see package data; 0 is none
	Shape    resp.Shape                                                     // the shape of a data command's reply in RESP3
	ShapeOf  func(args [][]byte) resp.Shape                                 // in place of Shape, if it depends on the arguments
	ReadsAll bool                                                           // a data command looks at everything that its key holds
	Seeks    bool                                                           // a data command looks for a few elements of a value in blocks, or as many as it Answers, and at no others
	Waits    engine.Kind                                                    // a data command waits until a key has a value of this kind
	Sub      []Row                                                          // containers, such as CLIENT
	Alias    string                                                         // another name, in lower case, which gets a row of its own
	Dialect  int64                                                          // the first dialect of scripts that may call the command; 0 for all

	Answers func(args [][]byte, held int) int // the number of elements in a data command's reply, if its arguments say so
	Visits  func(args [][]byte, held int) int // the number of elements in a row of a value in blocks that a data command looks at, at no others

	FullName string // with the container's name: client|setname
	Number   int    // its position in All
	upper    string // Name in upper case
	isWhole  bool   // its name is all that calls it: it is neither a container nor a subcommand
	arity    int
	Args     []Argument
	work     int // see Work
}

// Request is a command being parsed. Parse appends to Ops; if it returns an error, the appended operations are dropped.
type Request struct {
	Args     [][]byte
	Ops      []engine.Op
	Database uint8
	Shape    resp.Shape // the shape of the reply
	Hold     bool       // hold the reply back until the wait of the last operation is over (BLOCK)
	Wait     *Wait      // what to wait for if the reply is null; nil if the command does not wait
	Bounds   Bounds

	HasID    bool   // AS was given
	ID       []byte // the value of AS
	Remember int64  // the value of FOR, in nanoseconds

	isMarked bool   // a key of the command begins as names do: see package database
	names    []byte // buffer for names of keys

	Parts   []engine.Op // buffer for the Parts of Ops
	args    [][]byte    // buffer for the Args of Ops
	Assured []byte      // buffer for the assured rates of classes
	Last    [4]CachedLimit

	duration struct { // parsed last
		text   [16]byte
		length int
		nanos  int64
	}
}

// Bounds are the limits that settings put on the arguments of commands.
type Bounds struct {
	MaxKeyBytes int
	MaxLogLimit int       // the largest limit of a sliding log
	Databases   int       // the number of databases
	Groups      int       // the number of groups of keys in the cluster; below 2, one group has all keys
	Shared      *[]string // patterns of keys whose limits are shared among groups; nil for none
}

// SetBounds sets the bounds of the requests from here on.
func (r *Request) SetBounds(b Bounds) {
	if r.Bounds != b {
		r.Bounds, r.Last = b, [4]CachedLimit{}
	}
}

// Begin prepares the request for a command, whose operations are appended to ops.
func (r *Request) Begin(args [][]byte, ops []engine.Op) {
	r.Args, r.Ops, r.Hold, r.Wait, r.Shape, r.isMarked = args, ops, false, nil, resp.Same, false
}

// AddOp appends an operation to the request's, for the caller to fill in where it stays, because it is long.
func (r *Request) AddOp(verb engine.Verb) *engine.Op {
	r.Ops = append(r.Ops, engine.Op{})
	op := &r.Ops[len(r.Ops)-1]
	op.Verb = verb
	return op
}

// Reset empties the request for the next batch.
func (r *Request) Reset() {
	if cap(r.args) > keptArgs {
		r.args = nil
	}
	clear(r.args) // they point into the input buffer
	if cap(r.names) > keptNames {
		r.names = nil
	}
	r.Parts, r.args, r.Assured, r.names = r.Parts[:0], r.args[:0], r.Assured[:0], r.names[:0]
}

// Larger buffers for arguments and names are not kept for the next batch.
const (
	keptArgs  = 4096
	keptNames = 64 << 10
)

// Bytes estimates the memory of the buffers for lists of arguments and for names of keys.
func (r *Request) Bytes() int { return cap(r.args)*int(unsafe.Sizeof([]byte(nil))) + cap(r.names) }

// Arity is the number of arguments, including the command's name. If it is negative, it is a minimum.
func (r *Row) Arity() int { return r.arity }

// Accepts reports whether the command can have n arguments, including its name.
func (r *Row) Accepts(n int) bool {
	return n == r.arity || r.arity < 0 && n >= -r.arity
}

// Title is the row's full name as people write it.
func (r *Row) Title() string { return strings.ToUpper(strings.ReplaceAll(r.FullName, "|", " ")) }

// Usage is the row's title with its arguments, or with its subcommands.
func (r *Row) Usage() string {
	if !r.IsContainer() {
		return strings.TrimSpace(r.Title() + " " + r.Syntax)
	}
	names := make([]string, len(r.Sub))
	for i := range r.Sub {
		names[i] = strings.ToUpper(r.Sub[i].Name)
	}
	return r.Title() + " " + strings.Join(names, " | ")
}

// isStints reports whether only Stint has the command, and Redis does not.
func (r *Row) isStints() bool {
	return strings.Contains(r.FullName, ".") || strings.HasPrefix(r.FullName, "raft")
}

var (
	byName     = map[string]*Row{}
	tableNames []string // in the order of the table
)

// Table holds every command, in the order of the handbook. Package all fills it.
var Table []Row

// All holds every row by its Number, subcommands included.
var All []*Row

// longestName limits the length of a name that is looked up.
const longestName = 64

// Find returns the row for a command's arguments. If they are wrong it returns an error in Redis's words, and the row
// only if the name is right.
func Find(args [][]byte) (*Row, error) {
	named := LookUp(args[0])
	row := named
	if named != nil && len(named.Sub) > 0 && len(args) > 1 {
		row = named.Subcommand(args[1])
	}
	switch {
	case named == nil:
		return nil, UnknownCommand(args)
	case row == nil:
		return nil, unknownSubcommand(named, args[1])
	case !row.Accepts(len(args)):
		return row, WrongArity(row)
	}
	return row, nil
}

// LookUp returns the row of a name in lower or upper case, nil if there is none.
func LookUp(name []byte) *Row {
	var lower [longestName]byte
	if len(name) > longestName {
		return nil
	}
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		lower[i] = c
	}
	row := byName[string(lower[:len(name)])]
	if row == nil && len(Table) == 0 {
		panic("command: the table is empty: import server/command/all")
	}
	return row
}

// RowOf is the row of an operation on data.
func RowOf(args [][]byte) *Row {
	row := LookUp(args[0])
	if row != nil && len(row.Sub) > 0 && len(args) > 1 {
		return row.Subcommand(args[1])
	}
	return row
}

// Subcommand returns the row of a subcommand, nil if there is none.
func (r *Row) Subcommand(name []byte) *Row {
	for i := range r.Sub {
		if strings.EqualFold(r.Sub[i].Name, string(name)) {
			return &r.Sub[i]
		}
	}
	return nil
}

// Is reports whether args call this row: by its name, in lower or upper case, with a right number of arguments. It is a
// shortcut for a command that comes again, and never recognises a subcommand.
func (r *Row) Is(args [][]byte) bool {
	name := args[0]
	return r.isWhole && r.Accepts(len(args)) && (string(name) == r.upper || string(name) == r.Name || IsWord(name, r.Name))
}

// KeepArgs returns a copy of a list of arguments that is valid until the batch ends. The next command overwrites the
// original list.
func (r *Request) KeepArgs(args [][]byte) [][]byte {
	at := len(r.args)
	r.args = append(r.args, args...)
	return r.args[at:len(r.args):len(r.args)]
}

// Wait says what a command waits for. Without Place, a command whose reply is null waits until one of its keys gets a
// value. With Place, a command that was denied waits until there is a place among the leases of its first concurrency
// limit.
type Wait struct {
	From    int         // the argument that is the first key
	Keys    int         // the number of keys
	Kind    engine.Kind // the kind of value
	Timeout int64       // nanoseconds, 0 for none

	Place    bool
	Priority int // with Place, from 0 to MaxPriority

	// Attempt is nil for a command that takes something from a key, so that clients wait for their turn. A command that
	// only reads has the arguments of an attempt here; missed is the reply of the last attempt, which found nothing, and
	// nil before the first.
	Attempt func(args [][]byte, missed []byte) [][]byte
}

// MaxPriority is the most urgent priority of a wait for a place.
const MaxPriority = 9

// CachedLimit caches a parsed limit with the text of its parameters.
type CachedLimit struct {
	word  string   // the limit's first word, "" if nothing is cached
	text  [48]byte // the parameters, concatenated
	ends  [4]int
	Limit limits.Limit

	Assured limits.Limit
}

// Matches reports whether the cached limit has this word and these parameters.
func (m *CachedLimit) Matches(word string, a [][]byte) bool {
	if m.word != word {
		return false
	}
	start := 0
	for i := range a {
		end := m.ends[i]
		if string(a[i]) != string(m.text[start:end]) {
			return false
		}
		start = end
	}
	return true
}

// Store caches a limit. If its text is too long, nothing will match.
func (m *CachedLimit) Store(word string, a [][]byte, limit, assured limits.Limit) {
	m.word, m.Limit, m.Assured = "", limit, assured
	at := 0
	for i := range a {
		n := copy(m.text[at:], a[i])
		if n < len(a[i]) {
			return
		}
		at += n
		m.ends[i] = at
	}
	m.word = word
}

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
	MovableKeys                   // its keys are where its arguments say
	Decides                       // grants or denies
	NoAuth                        // for unauthenticated connections and for every user
	Transaction                   // about MULTI … EXEC
	Harmless                      // reveals no data of users
	NotInScripts                  // scripts may not call it
	PubSub                        // about channels and messages
	AllKeys                       // about all keys of a database, whatever its group
	Observes                      // looks at state of the server that is no key, and needs no more than the right to it
	DenyOOM                       // may need memory, as Redis's clients know it
)

// Row describes one command. Arity and the argument tree of COMMAND DOCS come from Syntax.
type Row struct {
	Name      string // lower case; of a subcommand without its container's
	Syntax    string // arguments: lower-case words are values, upper-case words stand for themselves, [optional], a | b, and ... repeats
	Summary   string
	Returns   string // the reply when there is no error, in Markdown; empty for what Redis documents
	Example   string // the arguments of a call, for docs/commands.md and for server.TestAccess, which explains its names
	Since     string // the first version that has it; empty for the first of all
	Group     string
	Flags     Flag
	Cost      Cost
	Keys      Keys
	AlsoReads func(args [][]byte) bool // whether these arguments have it read its first key, beyond what Keys says

	Parse    func(r *Request) error                                         // limiter commands: append to r.Ops
	Reply    func(w *resp.Writer, ops []engine.Op, results []engine.Result) // limiter commands: answer r.Ops
	Run      func(s Session, w *resp.Writer, args [][]byte)                 // all others
	Data     int                                                            // data commands, and others within a script: a function of package data, 0 for none
	Shape    resp.Shape                                                     // of a data command's reply in RESP3
	ShapeOf  func(args [][]byte) resp.Shape                                 // in place of Shape where the arguments decide
	ReadsAll bool                                                           // of a data command that looks at all that its key holds
	Waits    limits.Algorithm                                               // of a data command that waits until a key has a value of this kind
	Sub      []Row                                                          // containers, such as CLIENT

	Answers func(args [][]byte, held int) int // the elements that a data command answers with, where its arguments say how many

	FullName string // with the container's: client|setname
	Number   int    // its position in All
	arity    int
	Args     []Argument
	work     int // see Work
}

// Request is a command being parsed. Parse appends to Ops; on an error the appended operations are dropped.
type Request struct {
	Args     [][]byte
	Ops      []engine.Op
	Database uint8      // of the keys
	Shape    resp.Shape // of the reply to the command parsed last
	Hold     bool       // keep the reply back until the wait of the last op is over (BLOCK)
	Wait     *Wait      // for a key, if the reply is null; nil if the command does not wait
	Bounds   Bounds

	HasID    bool   // AS was given
	ID       []byte // with it
	Remember int64  // with FOR: nanoseconds

	isMarked bool   // a key of the command parsed last begins as names do: see package database
	names    []byte // room for names of keys

	Parts   []engine.Op // room for the parts of Ops
	args    [][]byte    // room for their Args
	Assured []byte      // room for the assured rates of classes
	Last    [4]CachedLimit
}

// Bounds are the limits that settings put on the arguments of commands.
type Bounds struct {
	MaxKeyBytes int
	MaxLogLimit int       // of a sliding log
	Databases   int       // that there are
	Groups      int       // of keys in the cluster; below 2 one group has all
	Shared      *[]string // patterns of the keys whose limits requests of all groups may ask; nil for none
}

// SetBounds holds the requests from here on to bounds.
func (r *Request) SetBounds(b Bounds) {
	if r.Bounds != b {
		r.Bounds, r.Last = b, [4]CachedLimit{}
	}
}

// Begin makes the request ready for a command, whose operations are appended to ops.
func (r *Request) Begin(args [][]byte, ops []engine.Op) {
	r.Args, r.Ops, r.Hold, r.Wait, r.Shape, r.isMarked = args, ops, false, nil, resp.Same, false
}

// Reset empties the request for the next batch.
func (r *Request) Reset() {
	if cap(r.args) > keptArgs {
		r.args = nil
	}
	clear(r.args) // they lie in the input
	if cap(r.names) > keptNames {
		r.names = nil
	}
	r.Parts, r.args, r.Assured, r.names = r.Parts[:0], r.args[:0], r.Assured[:0], r.names[:0]
}

// The bounds of the list of arguments, and of the bytes of names, that are kept for the next batch.
const (
	keptArgs  = 4096
	keptNames = 64 << 10
)

// Bytes is about the memory of the lists of arguments, without the arguments, and of the names of keys.
func (r *Request) Bytes() int { return cap(r.args)*int(unsafe.Sizeof([]byte(nil))) + cap(r.names) }

// Arity is the number of arguments, the command's name included; negative when it is the least.
func (r *Row) Arity() int { return r.arity }

// Accepts reports whether n arguments, the name included, can be right.
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

// isStints reports whether Redis has no such command.
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

// longestName bounds the length of a command that is looked up.
const longestName = 64

// Find returns the row for a command's arguments, or an error in Redis's own words: then the row is that of the command
// that was meant, nil if there is none.
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

// LookUp returns the row of a name, in lower or upper case, nil if there is none.
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

// Is reports whether args name this row in lower or upper case and are a right number of arguments for it. It is a
// shortcut for the command that came last; a container's subcommands are not recognised.
func (r *Row) Is(args [][]byte) bool {
	name := args[0]
	if len(r.FullName) != len(name) || !r.Accepts(len(args)) || r.FullName != r.Name || len(r.Sub) > 0 {
		return false
	}
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != r.Name[i] {
			return false
		}
	}
	return true
}

// KeepArgs returns a copy of a list of arguments, for as long as the batch lasts: the next command's list takes the
// place of this one.
func (r *Request) KeepArgs(args [][]byte) [][]byte {
	at := len(r.args)
	r.args = append(r.args, args...)
	return r.args[at:len(r.args):len(r.args)]
}

// Wait is the event that a command waits for if its reply is null.
type Wait struct {
	Keys    int              // the number of its arguments that are such keys, the first ones
	Kind    limits.Algorithm // of value that one of them must get
	Timeout int64            // nanoseconds, 0 for none
}

// CachedLimit caches the text of a limit's parameters with the parsed limit.
type CachedLimit struct {
	word  string   // that begins the limit, "" for no limit
	text  [48]byte // the parameters one after the other
	ends  [4]int
	Limit limits.Limit

	Assured limits.Limit
}

// Matches reports whether the cached limit is the one that a word and its parameters state.
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

// Store keeps a limit, and its text if that fits: otherwise nothing matches.
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

package command

import (
	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/policy"
	"github.com/stintdb/stint/server/resp"
	"github.com/stintdb/stint/server/tracking"
)

// Session is what commands other than the limiters may see and change: the connection they arrived on, and through it
// the server.
type Session interface {
	Client() *Client
	// ID is the connection's number, unique for the life of the server.
	ID() int64
	// CloseAfterReply closes the connection after the pending replies have been sent.
	CloseAfterReply()
	// Reset returns the connection to the state of a new one.
	Reset()
	// ReplyMode turns replies on, off, or off for the next command.
	ReplyMode(mode ReplyMode)

	// User is the user the connection is logged in as, "" if none.
	User() string
	// Login logs the connection in and has answer write the reply, at once or, after failed logins, when it is due.
	Login(name, password []byte, answer func(w *resp.Writer, err error), w *resp.Writer)
	KeyReader

	// Await keeps the reply back, and everything behind it, until start's done is called, from any goroutine: then it is
	// OK or the error.
	Await(start func(done func(error)))
	// AwaitReply is Await for a reply of any kind, which done is given a function to write.
	AwaitReply(start func(done func(write func(*resp.Writer))))
	// MayAwait reports whether a reply may be awaited: not among those of an EXEC, which come at once.
	MayAwait() bool

	// Decide has a batch decided. It reports whether that is done; if not, its Done is called, from another goroutine.
	Decide(b *engine.Batch) (done bool)

	// Unblock ends the wait of a connection for keys, if it waits for any.
	Unblock(id int64, withError bool) (waited bool)

	// Begin, Discard and Exec are MULTI, DISCARD and EXEC.
	Begin() error
	Discard() error
	Exec(w *resp.Writer)
	// Unwatch is UNWATCH.
	Unwatch()

	// Monitor has the connection sent every command from here on.
	Monitor() error

	// Databases is the number of databases; 0 in a cluster, which has one.
	Databases() int

	// Subscriptions are the connection's channels.
	Subscriptions() Subscriptions
	// Tracking is the connection's part in client-side caching.
	Tracking() Tracking

	Server() Server
}

// Subscriptions are the channels that a connection is subscribed to. Their messages come by themselves, after the replies that
// are written before.
type Subscriptions interface {
	// Subscribe adds a channel; it reports false if there are too many.
	Subscribe(channel string) (ok bool)
	// Unsubscribe ends the subscription to a channel, if there is one.
	Unsubscribe(channel string)
	// Channels lists the channels, in the order of subscription, until the next change.
	Channels() []string
	// Number is the number of all connections that are subscribed to a channel.
	Number(channel string) int
	// Names lists the channels to which any connection is subscribed, in no order; ok is false if they are more than a number.
	Names(most int) (names []string, ok bool)
	// WriteMessages writes the messages that have come.
	WriteMessages(w *resp.Writer)
}

// Tracking is a connection's part in client-side caching.
type Tracking interface {
	// Client is how the connection tracks, nil if it does not.
	Client() *tracking.Client
	// Start has it track from here on, and Stop no longer.
	Start(o tracking.Options, prefixes []string) error
	Stop()
	// Caching reports whether SetCaching was called for the command that comes now.
	Caching() bool
	SetCaching()
	// Knows reports whether there is a connection with an id.
	Knows(id int64) bool
}

// KeyReader is a user, as far as looking at keys goes.
type KeyReader interface {
	// Reaches reports whether the user may look at a key; ReachesAll whether at every key there is or could be.
	Reaches(key []byte) bool
	ReachesAll() bool
}

// ReplyMode is what CLIENT REPLY chose.
type ReplyMode uint8

// The reply modes.
const (
	ReplyOn ReplyMode = iota
	ReplyOff
	ReplySkip
)

// Client is the state that a client set for its connection; CLIENT LIST shows it.
type Client struct {
	RESP3      bool
	User       string
	Name       string
	LibName    string
	LibVersion string
	NoEvict    bool
	NoTouch    bool
	ReadOnly   bool
	Database   uint8
}

// Protocol is the version of RESP the client chose, 2 or 3.
func (c *Client) Protocol() int {
	if c.RESP3 {
		return 3
	}
	return 2
}

// Server is what commands may ask of the server as a whole.
type Server interface {
	// Now is the server's clock in nanoseconds since the Unix epoch.
	Now() int64
	Keys() Keyspace
	// Info renders the named INFO sections, all of the usual ones when none is named.
	Info(sections []string) string
	// ClientList counts the connections that match; render, from any goroutine, returns their lines of CLIENT LIST.
	ClientList(match func(ClientInfo) bool) (connections int, render func() string)
	// ClientLine returns the line of one connection.
	ClientLine(id int64) string
	// Kill closes the connections that match and returns how many there were.
	Kill(match func(ClientInfo) bool) int
	// ConfigGet returns the settings whose names match any of the glob patterns, as names and values in turn.
	ConfigGet(patterns []string) []string
	// ConfigSet changes settings, given as names and values in turn, all or none.
	ConfigSet(pairs []string) error
	ConfigRewrite() error
	ResetStats()
	Observer() Observer
	Users() Users
	// Shutdown starts a drain and returns at once; with now, connections are closed without waiting for slow readers; with
	// noSave no last snapshot is written.
	Shutdown(now, noSave bool)
	// Save starts a snapshot and calls done, from another goroutine, when it is complete or has failed. An error means
	// that none was started; done is not called then.
	Save(done func(error)) error
	// SaveAlone starts a snapshot unless one is being written.
	SaveAlone() error
	// LastSave is the time of the last complete snapshot, in Unix seconds; without one, when the server started.
	LastSave() int64
	// Membership is the cluster this server is a node of, nil if it stands alone.
	Membership() Membership
}

// Keyspace is the local store, read without going through the Decider.
type Keyspace interface {
	Len() int
	DatabaseLen(number uint8) int
	LastDatabase() int
	Bytes() int64
	Scan(cursor uint64, count int, now int64, visit func(keyspace.Entry)) (next uint64)
	ScanWhile(cursor uint64, count int, now int64, visit func(keyspace.Entry) (more bool)) (next uint64)
	Random(tries int, now int64, intN func(int) int, visit func(keyspace.Entry) (more bool))
	PolicyNames() []string
	Policy(name string) (policy.Policy, bool) // with all its overrides
	PolicyOf(name string, id []byte) (policy.Policy, bool)
	Overridden(name string, visit func(id string))
	PolicyTemplates(name string, visit func(key []byte) (more bool)) (found bool)
	PolicyKeys(name, id []byte, fields [][]byte, visit func(key []byte) (more bool)) (found bool)
}

// ClientInfo is what CLIENT KILL and CLIENT LIST select connections by.
type ClientInfo struct {
	ID         int64
	Addr       string
	LocalAddr  string
	AgeSec     int64
	User       string
	Subscribed bool // to channels
}

// Kind is the TYPE that CLIENT LIST and CLIENT KILL know the connection by.
func (c ClientInfo) Kind() string {
	if c.Subscribed {
		return "pubsub"
	}
	return "normal"
}

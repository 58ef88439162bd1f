package command

import (
	"time"

	"github.com/stintdb/stint/engine"

	"github.com/stintdb/stint/server/localstore"
	"github.com/stintdb/stint/server/resp"
	"github.com/stintdb/stint/server/tracking"
)

// Session is what commands other than limiters may use: their connection, and through it the server.
type Session interface {
	Client() *Client
	// ID is the connection's number, unique for the life of the server.
	ID() int64
	// CloseAfterReply closes the connection once the pending replies are sent.
	CloseAfterReply()
	// Reset returns the connection to the state of a new one.
	Reset()
	// ReplyMode turns replies on, off, or off for the next command.
	ReplyMode(mode ReplyMode)

	// User is the user that the connection is logged in as, "" if none.
	User() string
	// Login logs the connection in. answer writes the reply, which is delayed after failed logins.
	Login(name, password []byte, answer func(w *resp.Writer, err error), w *resp.Writer)
	KeyReader

	// Await holds back this reply and all later ones until start's done is called, from any goroutine. The reply is
	// then OK, or the error.
	Await(start func(done func(error)))
	// AwaitReply is Await for any reply, which the function given to done writes.
	AwaitReply(start func(done func(write func(*resp.Writer))))
	// MayAwait reports whether a reply may be awaited. Within EXEC it may not.
	MayAwait() bool

	// Decide decides a batch. If done is false, the batch's Done is called later, from another goroutine.
	Decide(b *engine.Batch) (done bool)

	// Unblock ends the wait of a connection for keys. It reports whether the connection was waiting.
	Unblock(id int64, withError bool) (waited bool)

	// Pause is the pause of all connections.
	Pause() Pause

	// Begin, Discard and Exec are MULTI, DISCARD and EXEC.
	Begin() error
	Discard() error
	Exec(w *resp.Writer)
	// Unwatch is UNWATCH.
	Unwatch()

	// Monitor sends the connection every command from here on.
	Monitor() error

	// Databases is the number of databases; 0 in a cluster, which has one.
	Databases() int

	// Subscriptions are the connection's channels.
	Subscriptions() Subscriptions
	// Tracking is the connection's part in client-side caching.
	Tracking() Tracking

	Server() Server
}

// Subscriptions are the channels that a connection is subscribed to. Messages are sent after the replies that are
// written before.
type Subscriptions interface {
	// Subscribe adds a channel. It reports false if there are too many.
	Subscribe(channel string) (ok bool)
	// Unsubscribe ends the subscription to a channel, if there is one.
	Unsubscribe(channel string)
	// Channels lists the channels in the order of subscription. The list is valid until the next change.
	Channels() []string
	// Number is the number of connections that are subscribed to a channel.
	Number(channel string) int
	// Names lists the channels to which any connection is subscribed, in no order. ok is false if there are more than
	// most.
	Names(most int) (names []string, ok bool)
	// WriteMessages writes the messages that have arrived.
	WriteMessages(w *resp.Writer)
}

// Tracking is a connection's part in client-side caching.
type Tracking interface {
	// Client describes how the connection tracks keys, nil if it does not.
	Client() *tracking.Client
	// Start starts tracking.
	Start(o tracking.Options, prefixes []string) error
	// Stop stops tracking.
	Stop()
	// Caching reports whether SetCaching was called for this command.
	Caching() bool
	// SetCaching says that the keys read by the next command are tracked.
	SetCaching()
	// Knows reports whether there is a connection with an id.
	Knows(id int64) bool
}

// KeyReader says which keys a user may look at.
type KeyReader interface {
	// Reaches reports whether the user may look at a key.
	Reaches(key []byte) bool
	// ReachesAll reports whether the user may look at every possible key.
	ReachesAll() bool
}

// ReplyMode is the mode of CLIENT REPLY.
type ReplyMode uint8

// The reply modes.
const (
	ReplyOn ReplyMode = iota
	ReplyOff
	ReplySkip
)

// Client is what a client has set for its connection, as CLIENT LIST shows it.
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

// Protocol is the client's version of RESP, 2 or 3.
func (c *Client) Protocol() int {
	if c.RESP3 {
		return 3
	}
	return 2
}

// Server is what commands may use of the server as a whole.
type Server interface {
	// Now is the server's clock in nanoseconds since the Unix epoch.
	Now() int64
	Keys() localstore.Keyspace
	// Info renders the named INFO sections, all of the usual ones when none is named.
	Info(sections []string) string
	// ClientList counts the connections that match. render returns their lines of CLIENT LIST; it may be called from
	// any goroutine.
	ClientList(match func(ClientInfo) bool) (connections int, render func() string)
	// ClientLine returns the line of one connection.
	ClientLine(id int64) string
	// Kill closes the connections that match and returns how many there were.
	Kill(match func(ClientInfo) bool) int
	// ConfigGet returns the settings whose names match any of the glob patterns, as alternating names and values.
	ConfigGet(patterns []string) []string
	// ConfigSet changes settings, given as alternating names and values, all or none.
	ConfigSet(pairs []string) error
	ConfigRewrite() error
	ResetStats()
	Observer() Observer
	Users() Users
	// Shutdown starts a drain and returns at once. With now, connections are closed without waiting for slow readers.
	// With noSave, no final snapshot is written.
	Shutdown(now, noSave bool)
	// Save starts a snapshot, and calls done from another goroutine when it is complete or has failed. If Save returns
	// an error, no snapshot was started and done is not called.
	Save(done func(error)) error
	// SaveAlone starts a snapshot unless one is being written.
	SaveAlone() error
	// LastSave is the time of the last complete snapshot in Unix seconds, or of the server's start if there is none.
	LastSave() int64
	// Membership is the cluster that this server is a node of, nil for a standalone server.
	Membership() Membership
}

// Pause holds back commands of all connections.
type Pause interface {
	// Start begins a pause, or extends the current one. Neither its end nor its mode becomes a weaker one.
	Start(d time.Duration, mode PauseMode)
	// Stop ends the pause, if there is one.
	Stop()
}

// PauseMode says which commands CLIENT PAUSE holds back. A greater one holds more.
type PauseMode uint8

// The modes.
const (
	PauseWrites PauseMode = iota + 1 // those that may change keys
	PauseAll
)

// ClientUnpause is the full name of CLIENT UNPAUSE, which no pause holds back.
const ClientUnpause = "client|unpause"

// ClientInfo is what CLIENT KILL and CLIENT LIST select connections by.
type ClientInfo struct {
	ID         int64
	Addr       string
	LocalAddr  string
	AgeSec     int64
	User       string
	Subscribed bool // to channels
}

// Kind is the connection's TYPE for CLIENT LIST and CLIENT KILL.
func (c ClientInfo) Kind() string {
	if c.Subscribed {
		return "pubsub"
	}
	return "normal"
}

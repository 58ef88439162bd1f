package ops

import (
	"slices"
	"strings"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/command/data"
	"github.com/stintdb/stint/server/resp"
)

var connectionRows = []command.Row{{
	Name: "ping", Syntax: "[message]", Group: "connection", Summary: "Reply PONG, or the message.",
	Returns: "`PONG`, or the message; on a connection in RESP2 that is subscribed to channels, an array of `pong` and the message.",
	Cost:    command.Light, Flags: command.Fast | command.Connection, Run: runPing, Data: data.Code(pingInScript), Dialect: 2,
}, {
	Name: "echo", Syntax: "message", Group: "connection", Summary: "Reply with the message.",
	Returns: "the message.", Example: "x",
	Cost: command.Light, Flags: command.Fast | command.Connection, Run: func(_ command.Session, w *resp.Writer, args [][]byte) { w.Bulk(args[1]) },
	Data: data.Code(func(c *data.Call) { c.Writer.Bulk(c.Args[1]) }), Dialect: 2,
}, {
	Name: "hello", Syntax: "[protover [AUTH username password] [SETNAME clientname]]", Group: "connection",
	Summary: "Choose RESP2 or RESP3, and describe the server.",
	Returns: "a map of server, version, proto, id, mode, role and modules.", Example: "2",
	Cost: command.Light, Flags: command.Fast | command.Connection | command.NotInMulti | command.NoAuth, Run: runHello,
}, {
	Name: "auth", Syntax: "[username] password", Group: "connection",
	Summary: "Authenticate as a user; without a name, as the user default.",
	Returns: "`OK`, delayed after [failed logins](security.md#guessing).",
	Example: "alice wrong",
	Cost:    command.Light, Flags: command.Fast | command.Connection | command.NotInMulti | command.NoAuth, Run: runAuth,
}, {
	Name: "quit", Group: "connection", Summary: "Close the connection.",
	Returns: "`OK`. Then the connection is closed.",
	Cost:    command.Light, Flags: command.Fast | command.Connection | command.NoMulti | command.NoAuth,
	Run: func(s command.Session, w *resp.Writer, _ [][]byte) {
		w.Status("OK")
		s.CloseAfterReply()
	},
}, {
	Name: "reset", Group: "connection", Summary: "Return the connection to the state of a new one.",
	Returns: "`RESET`, in RESP2.",
	Cost:    command.Light, Flags: command.Fast | command.Connection | command.NoMulti | command.NoAuth,
	Run: func(s command.Session, w *resp.Writer, _ [][]byte) {
		s.Reset()
		w.RESP3 = false
		w.Status("RESET")
	},
}, {
	Name: "readonly", Group: "connection", Summary: "In a cluster, allow reads from this node's own state, which may be older than the leader's.",
	Returns: "`OK`.",
	Cost:    command.Light, Flags: command.Fast | command.Connection, Run: func(s command.Session, w *resp.Writer, _ [][]byte) { s.Client().ReadOnly = true; w.Status("OK") },
}, {
	Name: "readwrite", Group: "connection", Summary: "Undo READONLY.",
	Returns: "`OK`.",
	Cost:    command.Light, Flags: command.Fast | command.Connection, Run: func(s command.Session, w *resp.Writer, _ [][]byte) { s.Client().ReadOnly = false; w.Status("OK") },
}}

func runPing(s command.Session, w *resp.Writer, args [][]byte) {
	if !w.RESP3 && len(args) <= 2 && len(s.Subscriptions().Channels()) > 0 {
		w.Array(2)
		w.BulkString("pong")
		w.Bulk(append(args, nil)[1])
		return
	}
	writePong(w, args)
}

func pingInScript(c *data.Call) { writePong(&c.Writer, c.Args) }

func writePong(w *resp.Writer, args [][]byte) {
	switch len(args) {
	case 1:
		w.Status("PONG")
	case 2:
		w.Bulk(args[1])
	default:
		w.Error(command.WrongArity(command.LookUp([]byte("ping"))).Error())
	}
}

const (
	serverName = "redis" // clients check it in the reply to HELLO
	// RedisVersion is the version of Redis that clients are told: see docs/decisions/0049-redis-version.md.
	RedisVersion = "7.4.0"
)

func runHello(s command.Session, w *resp.Writer, args [][]byte) {
	version := s.Client().Protocol()
	name, named := "", false
	var user, password []byte
	if len(args) > 1 {
		v, ok := command.ParseInteger(args[1])
		if !ok {
			w.Error(errProtocolVersion.Error())
			return
		}
		if v != 2 && v != 3 {
			w.Error(command.ErrNoProto.Error())
			return
		}
		version = int(v)
		for words := args[2:]; len(words) > 0; {
			switch {
			case command.IsWord(words[0], "AUTH") && len(words) >= 3:
				user, password = words[1], words[2]
				words = words[3:]
			case command.IsWord(words[0], "SETNAME") && len(words) >= 2:
				name, named = string(words[1]), true
				words = words[2:]
			default:
				w.Error(errHelloOption.With(command.Truncate(words[0], 64)).Error())
				return
			}
		}
	}
	if err := checkClientText(name); err != nil {
		w.Error(err.Error())
		return
	}
	greet := func(w *resp.Writer, err error) {
		switch {
		case err != nil:
			w.Error(err.Error())
			return
		case s.User() == "":
			w.Error(errHelloNoAuth.Error())
			return
		case named:
			s.Client().Name = name
		}
		writeHello(s, w, version)
	}
	if user == nil {
		greet(w, nil)
		return
	}
	s.Login(user, password, greet, w)
}

func writeHello(s command.Session, w *resp.Writer, version int) {
	s.Client().RESP3, w.RESP3 = version == 3, version == 3
	mode, role := ModeAndRole(s.Server().Membership())
	command.WriteFields(w, []command.Field{
		{Name: "server", Value: serverName}, {Name: "version", Value: RedisVersion}, {Name: "proto", Value: int64(version)}, {Name: "id", Value: s.ID()}, {Name: "mode", Value: mode}, {Name: "role", Value: role},
		{Name: "modules", Value: []string(nil)},
	})
}

func runAuth(s command.Session, w *resp.Writer, args [][]byte) {
	user, password := []byte("default"), args[len(args)-1]
	switch len(args) {
	case 2:
		if d, _ := s.Server().Users().Describe("default"); slices.Contains(d.Flags, "nopass") {
			w.Error(errAuthNoPassword.Error())
			return
		}
	case 3:
		user = args[1]
	default:
		w.Error(command.ErrSyntax.Error())
		return
	}
	s.Login(user, password, okOrError, w)
}

// setName sets the client's name if it is valid.
func setName(s command.Session, name string) error {
	err := checkClientText(name)
	if err == nil {
		s.Client().Name = name
	}
	return err
}

// checkClientText refuses blanks, line ends and characters that are not printable ASCII.
func checkClientText(text string) error {
	if len(text) > maxClientText {
		return errNameTooLong.With(maxClientText, len(text))
	}
	if strings.IndexFunc(text, func(r rune) bool { return r < '!' || r > '~' }) >= 0 {
		return errNameCharacters
	}
	return nil
}

const maxClientText = 256

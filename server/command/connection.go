package command

import (
	"slices"
	"strings"
	"time"

	"github.com/stintdb/stint/server/resp"
)

var connectionRows = []Row{{
	Name: "ping", Syntax: "[message]", Group: "connection", Summary: "Reply PONG, or the message.",
	Returns: "`PONG`, or the message; on a connection in RESP2 that is subscribed to channels, an array of `pong` and the message.",
	Cost:    Light, Flags: Fast | Connection, Run: runPing,
}, {
	Name: "echo", Syntax: "message", Group: "connection", Summary: "Reply with the message.",
	Returns: "the message.", Example: "x",
	Cost: Light, Flags: Fast | Connection, Run: func(_ Session, w *resp.Writer, args [][]byte) { w.Bulk(args[1]) },
}, {
	Name: "hello", Syntax: "[protover [AUTH username password] [SETNAME clientname]]", Group: "connection",
	Summary: "Choose RESP2 or RESP3, and describe the server.",
	Returns: "a map of server, version, proto, id, mode, role and modules.", Example: "2",
	Cost: Light, Flags: Fast | Connection | NotInMulti | NoAuth, Run: runHello,
}, {
	Name: "auth", Syntax: "[username] password", Group: "connection",
	Summary: "Authenticate as a user, by default as default.",
	Returns: "`OK`. After failed logins from the same address the reply may be delayed. See [security.md](security.md).",
	Example: "alice wrong",
	Cost:    Light, Flags: Fast | Connection | NotInMulti | NoAuth, Run: runAuth,
}, {
	Name: "select", Syntax: "index", Group: "connection",
	Summary: "Choose a database: from 0 to one below `--databases`, in a cluster 0.",
	Returns: "`OK`.", Example: "0",
	Cost: Light, Flags: Fast | Connection, Run: runSelect, Data: selectInScript,
}, {
	Name: "quit", Group: "connection", Summary: "Close the connection.",
	Returns: "`OK`. Then the connection is closed.",
	Cost:    Light, Flags: Fast | Connection | NoMulti | NoAuth,
	Run: func(s Session, w *resp.Writer, _ [][]byte) {
		w.Status("OK")
		s.CloseAfterReply()
	},
}, {
	Name: "reset", Group: "connection", Summary: "Return the connection to the state of a new one.",
	Returns: "`RESET`, in RESP2.",
	Cost:    Light, Flags: Fast | Connection | NoMulti | NoAuth,
	Run: func(s Session, w *resp.Writer, _ [][]byte) {
		s.Reset()
		w.RESP3 = false
		w.Status("RESET")
	},
}, {
	Name: "readonly", Group: "connection", Summary: "In a cluster, allow reads from this node's own state.",
	Returns: "`OK`.",
	Cost:    Light, Flags: Fast | Connection, Run: func(s Session, w *resp.Writer, _ [][]byte) { s.Client().ReadOnly = true; w.Status("OK") },
}, {
	Name: "readwrite", Group: "connection", Summary: "Undo READONLY.",
	Returns: "`OK`.",
	Cost:    Light, Flags: Fast | Connection, Run: func(s Session, w *resp.Writer, _ [][]byte) { s.Client().ReadOnly = false; w.Status("OK") },
}, {
	Name: "time", Group: "server", Summary: "The server's clock: Unix seconds and microseconds.",
	Returns: "two strings of digits: Unix seconds, and microseconds within the second.",
	Cost:    Light, Flags: Fast | Harmless, Data: timeOfTx, Run: runTime,
}}

func runPing(s Session, w *resp.Writer, args [][]byte) {
	if !w.RESP3 && len(args) <= 2 && len(s.Subscriptions().Channels()) > 0 {
		w.Array(2)
		w.BulkString("pong")
		w.Bulk(append(args, nil)[1])
		return
	}
	switch len(args) {
	case 1:
		w.Status("PONG")
	case 2:
		w.Bulk(args[1])
	default:
		w.Error(wrongArity(byName["ping"]).Error())
	}
}

const (
	serverName = "redis" // clients look for it in HELLO
	// RedisVersion is the version of Redis whose client-visible behaviour this server follows.
	RedisVersion = "7.4.0"
)

func runHello(s Session, w *resp.Writer, args [][]byte) {
	version := s.Client().Protocol()
	name, named := "", false
	var user, password []byte
	if len(args) > 1 {
		v, ok := integer(args[1])
		if !ok {
			w.Error(errProtocolVersion.Error())
			return
		}
		if v != 2 && v != 3 {
			w.Error(ErrNoProto.Error())
			return
		}
		version = int(v)
		for words := args[2:]; len(words) > 0; {
			switch {
			case isWord(words[0], "AUTH") && len(words) >= 3:
				user, password = words[1], words[2]
				words = words[3:]
			case isWord(words[0], "SETNAME") && len(words) >= 2:
				name, named = string(words[1]), true
				words = words[2:]
			default:
				w.Error(errHelloOption.With(truncate(words[0], 64)).Error())
				return
			}
		}
	}
	if err := checkClientText(name); err != "" {
		w.Error(err)
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

func writeHello(s Session, w *resp.Writer, version int) {
	s.Client().RESP3, w.RESP3 = version == 3, version == 3
	mode, role := ModeAndRole(s.Server().Membership())
	writeFields(w, []field{
		{"server", serverName}, {"version", RedisVersion}, {"proto", int64(version)}, {"id", s.ID()}, {"mode", mode}, {"role", role},
		{"modules", []string(nil)},
	})
}

func runAuth(s Session, w *resp.Writer, args [][]byte) {
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
		w.Error(ErrSyntax.Error())
		return
	}
	s.Login(user, password, okOrError, w)
}

func runTime(s Session, w *resp.Writer, _ [][]byte) {
	now := time.Unix(0, s.Server().Now())
	w.Array(2)
	w.BulkString(formatInt(now.Unix()))
	w.BulkString(formatInt(int64(now.Nanosecond() / 1000)))
}

// setName stores a client's name if it is one: no spaces, no line ends, nothing unprintable.
func setName(s Session, name string) string {
	if err := checkClientText(name); err != "" {
		return err
	}
	s.Client().Name = name
	return ""
}

func checkClientText(text string) string {
	if len(text) > maxClientText {
		return errNameTooLong.With(maxClientText, len(text)).Error()
	}
	if strings.IndexFunc(text, func(r rune) bool { return r < '!' || r > '~' }) >= 0 {
		return errNameCharacters.Error()
	}
	return ""
}

const maxClientText = 256

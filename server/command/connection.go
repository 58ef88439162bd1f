package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/stintdb/stint/server/resp"
)

var connectionRows = []Row{{
	Name: "ping", Syntax: "[message]", Since: "0.1.0", Group: "connection", Summary: "Answer PONG, or the message.",
	Flags: Fast | Connection, Run: runPing,
}, {
	Name: "echo", Syntax: "message", Since: "0.1.0", Group: "connection", Summary: "Answer the message.",
	Flags: Fast | Connection, Run: func(_ Session, w *resp.Writer, args [][]byte) { w.Bulk(args[1]) },
}, {
	Name: "hello", Syntax: "[protover [AUTH username password] [SETNAME clientname]]", Since: "0.1.0", Group: "connection",
	Summary: "Choose RESP 2 or 3 and learn about the server.", Flags: Fast | Connection | NoMulti, Run: runHello,
}, {
	Name: "auth", Syntax: "[username] password", Since: "0.1.0", Group: "connection",
	Summary: "Log in. This server has no password set.", Flags: Fast | Connection | NoMulti, Run: runAuth,
}, {
	Name: "select", Syntax: "index", Since: "0.1.0", Group: "connection",
	Summary: "Choose a database; there is only 0.", Flags: Fast | Connection, Run: runSelect,
}, {
	Name: "quit", Since: "0.1.0", Group: "connection", Summary: "Close the connection.", Flags: Fast | Connection | NoMulti,
	Run: func(s Session, w *resp.Writer, _ [][]byte) {
		w.Status("OK")
		s.CloseAfterReply()
	},
}, {
	Name: "reset", Since: "0.1.0", Group: "connection", Summary: "Return the connection to the state of a new one.",
	Flags: Fast | Connection | NoMulti,
	Run: func(s Session, w *resp.Writer, _ [][]byte) {
		s.Reset()
		w.RESP3 = false
		w.Status("RESET")
	},
}, {
	Name: "readonly", Since: "0.1.0", Group: "connection", Summary: "Allow reads of this node's own state in a cluster.",
	Flags: Fast | Connection, Run: func(s Session, w *resp.Writer, _ [][]byte) { s.Client().ReadOnly = true; w.Status("OK") },
}, {
	Name: "readwrite", Since: "0.1.0", Group: "connection", Summary: "Undo READONLY.",
	Flags: Fast | Connection, Run: func(s Session, w *resp.Writer, _ [][]byte) { s.Client().ReadOnly = false; w.Status("OK") },
}, {
	Name: "time", Since: "0.1.0", Group: "server", Summary: "The server's clock: Unix seconds and microseconds.",
	Flags: Fast, Run: runTime,
}}

func runPing(_ Session, w *resp.Writer, args [][]byte) {
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
	if len(args) > 1 {
		v, ok := integer(args[1])
		if !ok {
			w.Error("ERR Protocol version is not an integer or out of range")
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
				if err := authenticate(words[1], words[2]); err != "" {
					w.Error(err)
					return
				}
				words = words[3:]
			case isWord(words[0], "SETNAME") && len(words) >= 2:
				name, named = string(words[1]), true
				words = words[2:]
			default:
				w.Error("ERR Syntax error in HELLO option '" + string(clip(words[0], 64)) + "'")
				return
			}
		}
	}
	if named {
		if err := setName(s, name); err != "" {
			w.Error(err)
			return
		}
	}
	s.Client().RESP3, w.RESP3 = version == 3, version == 3
	w.Map(7)
	for _, pair := range [][2]string{{"server", serverName}, {"version", RedisVersion}} {
		w.BulkString(pair[0])
		w.BulkString(pair[1])
	}
	w.BulkString("proto")
	w.Int(int64(version))
	w.BulkString("id")
	w.Int(s.ID())
	w.BulkString("mode")
	w.BulkString("standalone")
	w.BulkString("role")
	w.BulkString("master")
	w.BulkString("modules")
	w.Array(0)
}

// authenticate answers as a Redis without passwords does: the default user needs none.
func authenticate(user, _ []byte) string {
	if string(user) == "default" {
		return ""
	}
	return "WRONGPASS invalid username-password pair or user is disabled."
}

func runAuth(_ Session, w *resp.Writer, args [][]byte) {
	if len(args) == 2 {
		w.Error("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
		return
	}
	if len(args) > 3 {
		w.Error(ErrSyntax.Error())
		return
	}
	if err := authenticate(args[1], args[2]); err != "" {
		w.Error(err)
		return
	}
	w.Status("OK")
}

func runSelect(_ Session, w *resp.Writer, args [][]byte) {
	index, ok := integer(args[1])
	switch {
	case !ok:
		w.Error(ErrNotInteger.Error())
	case index != 0:
		w.Error(ErrDBIndex.Error())
	default:
		w.Status("OK")
	}
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
		return fmt.Sprintf("ERR Client names are at most %d bytes, got %d", maxClientText, len(text))
	}
	if strings.IndexFunc(text, func(r rune) bool { return r < '!' || r > '~' }) >= 0 {
		return "ERR Client names cannot contain spaces, newlines or special characters."
	}
	return ""
}

const maxClientText = 256

package command

import (
	"fmt"
	"slices"
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
	Summary: "Choose RESP 2 or 3 and learn about the server.", Flags: Fast | Connection | NoMulti | NoAuth, Run: runHello,
}, {
	Name: "auth", Syntax: "[username] password", Since: "0.1.0", Group: "connection",
	Summary: "Log in as a user; without a name, as the user default.", Flags: Fast | Connection | NoMulti | NoAuth, Run: runAuth,
}, {
	Name: "select", Syntax: "index", Since: "0.1.0", Group: "connection",
	Summary: "Choose a database; there is only 0.", Flags: Fast | Connection, Run: runSelect,
}, {
	Name: "quit", Since: "0.1.0", Group: "connection", Summary: "Close the connection.", Flags: Fast | Connection | NoMulti | NoAuth,
	Run: func(s Session, w *resp.Writer, _ [][]byte) {
		w.Status("OK")
		s.CloseAfterReply()
	},
}, {
	Name: "reset", Since: "0.1.0", Group: "connection", Summary: "Return the connection to the state of a new one.",
	Flags: Fast | Connection | NoMulti | NoAuth,
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
	Flags: Fast | Harmless, Run: runTime,
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
	var user, password []byte
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
				user, password = words[1], words[2]
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
			w.Error("NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time")
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
	w.Map(7)
	for _, pair := range [][2]string{{"server", serverName}, {"version", RedisVersion}} {
		w.BulkString(pair[0])
		w.BulkString(pair[1])
	}
	w.BulkString("proto")
	w.Int(int64(version))
	w.BulkString("id")
	w.Int(s.ID())
	mode, role := ModeAndRole(s.Server().Membership())
	w.BulkString("mode")
	w.BulkString(mode)
	w.BulkString("role")
	w.BulkString(role)
	w.BulkString("modules")
	w.Array(0)
}

func runAuth(s Session, w *resp.Writer, args [][]byte) {
	user, password := []byte("default"), args[len(args)-1]
	switch len(args) {
	case 2:
		if d, _ := s.Server().Users().Describe("default"); slices.Contains(d.Flags, "nopass") {
			w.Error("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
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

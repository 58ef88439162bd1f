package ops

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var clientRows = []command.Row{{
	Name: "client", Syntax: "subcommand", Group: "connection", Summary: "Inspect and control connections.",
	Sub: append([]command.Row{
		{Name: "id", Group: "connection", Summary: "The number (id) of this connection.",
			Returns: "an integer.",
			Cost:    command.Light, Flags: command.Fast | command.Connection,
			Run: func(s command.Session, w *resp.Writer, _ [][]byte) { w.Int(s.ID()) }},
		{Name: "getname", Group: "connection", Summary: "This connection's name.",
			Returns: "the name, or null if there is none.",
			Cost:    command.Light, Flags: command.Fast | command.Connection,
			Run: runGetName},
		{Name: "setname", Syntax: "name", Group: "connection", Summary: "Name this connection.",
			Returns: "`OK`.", Example: "x",
			Cost: command.Light, Flags: command.Fast | command.Connection,
			Run: func(s command.Session, w *resp.Writer, args [][]byte) { okOrError(w, setName(s, string(args[2]))) }},
		{Name: "setinfo", Syntax: "attribute value", Group: "connection", Summary: "Set the client library's name or version.",
			Returns: "`OK`.", Example: "LIB-NAME x",
			Cost: command.Light, Flags: command.Fast | command.Connection, Run: runSetInfo},
		{Name: "info", Group: "connection", Summary: "Describe this connection.",
			Returns: "text: one line of names and values, as in Redis. The values for buffers and traffic are from the last time the connection was served. There is no `fd`. Fields of features that Stint does not have are 0.",
			Cost:    command.Report, Flags: command.Connection,
			Run: func(s command.Session, w *resp.Writer, _ [][]byte) { w.Verbatim(s.Server().ClientLine(s.ID()) + "\n") }},
		{Name: "list", Syntax: "[TYPE type] [ID client-id ...]", Group: "connection", Summary: "Describe all connections.",
			Returns: "text: one line for each connection, as in `CLIENT INFO`.",
			Cost:    command.ConnectionPass, Flags: command.Admin | command.Connection | command.Dangerous, Run: runClientList},
		{Name: "kill", Syntax: "filter [value ...]", Group: "connection", Summary: "Close the connection of an address, or all connections that match filters: ID, ADDR, LADDR, USER, TYPE, MAXAGE, SKIPME.",
			Returns: "`OK` for an address, or the number of connections that were closed by filters.",
			Example: "ID 1",
			Cost:    command.ConnectionPass, Flags: command.Admin | command.Connection | command.Dangerous, Run: runClientKill},
		{Name: "unblock", Syntax: "client-id [TIMEOUT | ERROR]", Group: "connection",
			Summary: "End the wait of another connection, for example in BLPOP. The waiting command replies as if its timeout were over or, with ERROR, with an error.",
			Returns: "1 if the connection was waiting, otherwise 0.",
			Example: "1",
			Cost:    command.Light, Flags: command.Admin | command.Connection | command.Dangerous, Run: runClientUnblock},
		{Name: "pause", Syntax: "timeout [WRITE | ALL]", Group: "connection", Since: "0.3.0",
			Summary: "Delay the commands of all connections to this node for a time in milliseconds, except CLIENT UNPAUSE. WRITE delays only commands that may " +
				"change keys. Of several pauses, the latest end counts, and ALL prevails over WRITE. A shutdown ends the pause.",
			Returns: "`OK`.", Example: "1 WRITE",
			Cost: command.Light, Flags: command.Admin | command.Connection | command.Dangerous, Run: runClientPause},
		{Name: "unpause", Group: "connection", Summary: "End the pause that CLIENT PAUSE began.", Since: "0.3.0",
			Returns: "`OK`.",
			Cost:    command.Light, Flags: command.Admin | command.Connection | command.Dangerous,
			Run: func(s command.Session, w *resp.Writer, _ [][]byte) { s.Pause().Stop(); w.Status("OK") }},
		{Name: "no-evict", Syntax: "ON | OFF", Group: "connection", Summary: "Accepted without effect, because connections are not evicted for memory.",
			Returns: "`OK`.", Example: "ON",
			Cost: command.Light, Flags: command.Connection,
			Run: onOff(func(s command.Session, on bool) { s.Client().NoEvict = on })},
		{Name: "no-touch", Syntax: "ON | OFF", Group: "connection", Summary: "Accepted without effect, because Stint does not record when keys are used.",
			Returns: "`OK`.", Example: "ON",
			Cost: command.Light, Flags: command.Connection,
			Run: onOff(func(s command.Session, on bool) { s.Client().NoTouch = on })},
		{Name: "reply", Syntax: "ON | OFF | SKIP", Group: "connection", Summary: "Turn replies on or off.",
			Returns: "`OK` for ON; no reply for OFF and SKIP.", Example: "ON",
			Cost: command.Light, Flags: command.Connection | command.NotInMulti,
			Run: runClientReply},
	}, trackingRows...),
}}

func runGetName(s command.Session, w *resp.Writer, _ [][]byte) {
	if name := s.Client().Name; name != "" {
		w.BulkString(name)
		return
	}
	w.Null()
}

func runSetInfo(s command.Session, w *resp.Writer, args [][]byte) {
	value := string(args[3])
	var field *string
	switch {
	case command.IsWord(args[2], "LIB-NAME"):
		field = &s.Client().LibName
	case command.IsWord(args[2], "LIB-VER"):
		field = &s.Client().LibVersion
	default:
		w.Error(errClientAttribute.With(command.Truncate(args[2], 64)).Error())
		return
	}
	err := checkClientText(value)
	switch {
	case err == nil:
		*field = value
	case len(value) <= maxClientText:
		err = errClientText.With(strings.ToLower(string(args[2])))
	}
	okOrError(w, err)
}

// longestPause is the longest time of CLIENT PAUSE, some 292 years.
const longestPause = time.Duration(math.MaxInt64)

func runClientPause(s command.Session, w *resp.Writer, args [][]byte) {
	mode := command.PauseAll
	millis, ok := command.ParseRedisInt(args[2])
	switch {
	case len(args) > 4:
		w.Error(errSubcommand.With(command.Truncate(args[1], 64), "CLIENT").Error())
		return
	case len(args) == 4 && command.IsWord(args[3], "WRITE"):
		mode = command.PauseWrites
	case len(args) == 4 && !command.IsWord(args[3], "ALL"):
		w.Error(errPauseMode.Error())
		return
	}
	switch {
	case !ok:
		w.Error(errTimeoutInteger.Error())
		return
	case millis < 0:
		w.Error(command.ErrTimeoutNegative.Error())
		return
	}
	d := longestPause
	if millis < int64(longestPause/time.Millisecond) {
		d = time.Duration(millis) * time.Millisecond
	}
	s.Pause().Start(d, mode)
	w.Status("OK")
}

func onOff(set func(s command.Session, on bool)) func(command.Session, *resp.Writer, [][]byte) {
	return func(s command.Session, w *resp.Writer, args [][]byte) {
		on := command.IsWord(args[2], "ON")
		if !on && !command.IsWord(args[2], "OFF") {
			w.Error(command.ErrSyntax.Error())
			return
		}
		set(s, on)
		w.Status("OK")
	}
}

func runClientReply(s command.Session, w *resp.Writer, args [][]byte) {
	switch {
	case command.IsWord(args[2], "ON"):
		s.ReplyMode(command.ReplyOn)
		w.Status("OK")
	case command.IsWord(args[2], "OFF"):
		s.ReplyMode(command.ReplyOff)
	case command.IsWord(args[2], "SKIP"):
		s.ReplyMode(command.ReplySkip)
	default:
		w.Error(command.ErrSyntax.Error())
	}
}

func runClientList(s command.Session, w *resp.Writer, args [][]byte) {
	match := func(command.ClientInfo) bool { return true }
	if len(args) > 2 {
		switch {
		case command.IsWord(args[2], "TYPE") && len(args) == 4:
			kind, err := clientType(args[3])
			if err != nil {
				w.Error(err.Error())
				return
			}
			match = func(c command.ClientInfo) bool { return c.Kind() == kind }
		case command.IsWord(args[2], "ID") && len(args) > 3:
			ids := map[int64]bool{}
			for _, a := range args[3:] {
				id, ok := command.ParseInteger(a)
				if !ok {
					w.Error(errClientID.Error())
					return
				}
				ids[id] = true
			}
			match = func(c command.ClientInfo) bool { return ids[c.ID] }
		default:
			w.Error(command.ErrSyntax.Error())
			return
		}
	}
	connections, render := s.Server().ClientList(match)
	if connections <= linesAtOnce || !s.MayAwait() {
		w.Verbatim(render())
		return
	}
	s.AwaitReply(func(done func(func(*resp.Writer))) {
		go func() {
			command.Listing.Lock()
			defer command.Listing.Unlock()
			list := render()
			done(func(w *resp.Writer) { w.Verbatim(list) })
		}()
	})
}

// clientType parses a type of connection.
func clientType(word []byte) (string, error) {
	switch kind := strings.ToLower(string(word)); kind {
	case "normal", "master", "replica", "slave", "pubsub":
		return kind, nil
	}
	return "", errClientType.With(command.Truncate(word, 64))
}

// linesAtOnce is how many lines of CLIENT LIST are rendered on the event loop; ten thousand would take 80 ms.
const linesAtOnce = 500

// runClientKill has two forms: CLIENT KILL addr:port, and filters with values.
func runClientKill(s command.Session, w *resp.Writer, args [][]byte) {
	if len(args) == 3 {
		addr := string(args[2])
		if s.Server().Kill(func(c command.ClientInfo) bool { return c.Addr == addr }) == 0 {
			w.Error(command.ErrNoSuchClient.Error())
			return
		}
		w.Status("OK")
		return
	}
	match, err := killFilter(s, args[2:])
	if err != nil {
		w.Error(err.Error())
		return
	}
	w.Int(int64(s.Server().Kill(match)))
}

func runClientUnblock(s command.Session, w *resp.Writer, args [][]byte) {
	withError := len(args) > 3 && command.IsWord(args[3], "ERROR")
	if len(args) > 3 && !withError && !command.IsWord(args[3], "TIMEOUT") {
		w.Error(errUnblockReason.Error())
		return
	}
	id, ok := command.ParseRedisInt(args[2])
	switch {
	case !ok:
		w.Error(command.ErrNotInteger.Error())
	case s.Unblock(id, withError):
		w.Int(1)
	default:
		w.Int(0)
	}
}

func killFilter(s command.Session, words [][]byte) (func(command.ClientInfo) bool, error) {
	var tests []func(command.ClientInfo) bool
	self, skipMe := s.ID(), true
	if len(words)%2 != 0 {
		return nil, command.ErrSyntax
	}
	for ; len(words) > 0; words = words[2:] {
		value := string(words[1])
		switch number, numErr := strconv.ParseInt(value, 10, 64); {
		case command.IsWord(words[0], "ID"):
			if numErr != nil || number < 1 {
				return nil, errKillID
			}
			tests = append(tests, func(c command.ClientInfo) bool { return c.ID == number })
		case command.IsWord(words[0], "MAXAGE"):
			if numErr != nil {
				return nil, errKillAge
			}
			if number < 1 { // it would match all connections
				return nil, errKillNoAge
			}
			tests = append(tests, func(c command.ClientInfo) bool { return c.AgeSec >= number })
		case command.IsWord(words[0], "ADDR"):
			tests = append(tests, func(c command.ClientInfo) bool { return c.Addr == value })
		case command.IsWord(words[0], "LADDR"):
			tests = append(tests, func(c command.ClientInfo) bool { return c.LocalAddr == value })
		case command.IsWord(words[0], "USER"):
			if _, known := s.Server().Users().Describe(value); !known {
				return nil, errKillUser.With(command.Truncate(words[1], 64))
			}
			tests = append(tests, func(c command.ClientInfo) bool { return c.User == value })
		case command.IsWord(words[0], "TYPE"):
			kind, err := clientType(words[1])
			if err != nil {
				return nil, err
			}
			tests = append(tests, func(c command.ClientInfo) bool { return c.Kind() == kind })
		case command.IsWord(words[0], "SKIPME") && (strings.EqualFold(value, "yes") || strings.EqualFold(value, "no")):
			skipMe = strings.EqualFold(value, "yes")
		default:
			return nil, command.ErrSyntax
		}
	}
	return func(c command.ClientInfo) bool {
		if skipMe && c.ID == self {
			return false
		}
		for _, test := range tests {
			if !test(c) {
				return false
			}
		}
		return true
	}, nil
}

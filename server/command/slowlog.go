package command

import "github.com/stintdb/stint/server/resp"

// SlowCommand is a command that took too long.
type SlowCommand struct {
	ID      int64
	UnixSec int64
	Micros  int64
	Args    []string // shortened
	Addr    string
	Name    string // of the client
}

var slowlogRows = []Row{{
	Name: "slowlog", Syntax: "subcommand", Group: "server", Summary: "Inspect the log of slow commands.",
	Sub: []Row{
		{Name: "get", Syntax: "[count]", Group: "server", Summary: "The latest commands slower than slowlog-log-slower-than. count is 10 by default; -1 is all.",
			Returns: "an array with one array for each entry: number, Unix seconds, microseconds, arguments, address, client name. The commands of a pipeline are decided together; the entry shows the first.",
			Cost:    Report, Flags: Admin | Dangerous, Run: runSlowlogGet},
		{Name: "len", Group: "server", Summary: "The number of entries.",
			Returns: "an integer.",
			Cost:    Light, Flags: Admin | Dangerous,
			Run: func(s Session, w *resp.Writer, _ [][]byte) { w.Int(int64(s.Server().Observer().SlowCount())) }},
		{Name: "reset", Group: "server", Summary: "Delete the entries.",
			Returns: "`OK`.",
			Cost:    Light, Flags: Admin | Dangerous,
			Run: func(s Session, w *resp.Writer, _ [][]byte) { s.Server().Observer().ResetSlowlog(); w.Status("OK") }},
	},
}}

func runSlowlogGet(s Session, w *resp.Writer, args [][]byte) {
	n := int64(10)
	if len(args) > 3 {
		w.Error(ErrSyntax.Error())
		return
	}
	if len(args) == 3 {
		var ok bool
		if n, ok = integer(args[2]); !ok || n < -1 {
			w.Error(errSlowlogCount.Error())
			return
		}
	}
	entries := s.Server().Observer().SlowCommands(int(n))
	w.Array(len(entries))
	for _, e := range entries {
		w.Array(6)
		w.Int(e.ID)
		w.Int(e.UnixSec)
		w.Int(e.Micros)
		writeTexts(w, e.Args)
		w.BulkString(e.Addr)
		w.BulkString(e.Name)
	}
}

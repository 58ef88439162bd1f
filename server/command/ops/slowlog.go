package ops

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var slowlogRows = []command.Row{{
	Name: "slowlog", Syntax: "subcommand", Group: "server", Summary: "Inspect the log of slow commands.",
	Sub: []command.Row{
		{Name: "get", Syntax: "[count]", Group: "server", Summary: "List the latest commands that took longer than slowlog-log-slower-than. count is 10 by default; -1 means all.",
			Returns: "an array with one array for each entry: number, Unix seconds, microseconds, arguments, address, client name.",
			Cost:    command.Report, Flags: command.Admin | command.Dangerous, Run: runSlowlogGet},
		{Name: "len", Group: "server", Summary: "The number of entries.",
			Returns: "an integer.",
			Cost:    command.Light, Flags: command.Admin | command.Dangerous,
			Run: func(s command.Session, w *resp.Writer, _ [][]byte) { w.Int(int64(s.Server().Observer().SlowCount())) }},
		{Name: "reset", Group: "server", Summary: "Delete the entries.",
			Returns: "`OK`.",
			Cost:    command.Light, Flags: command.Admin | command.Dangerous,
			Run: func(s command.Session, w *resp.Writer, _ [][]byte) {
				s.Server().Observer().ResetSlowlog()
				w.Status("OK")
			}},
	},
}}

func runSlowlogGet(s command.Session, w *resp.Writer, args [][]byte) {
	n := int64(10)
	if len(args) > 3 {
		w.Error(command.ErrSyntax.Error())
		return
	}
	if len(args) == 3 {
		var ok bool
		if n, ok = command.ParseInteger(args[2]); !ok || n < -1 {
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
		command.WriteTexts(w, e.Args)
		w.BulkString(e.Addr)
		w.BulkString(e.Name)
	}
}

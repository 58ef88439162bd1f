package ops

import (
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var topRows = []command.Row{{
	Name: "rl.top", Syntax: "[n]", Group: "limiter",
	Summary: "The keys with the most denials in the last 4 to 5 minutes, the highest count first. A restart clears the counts. n is 10 by default.",
	Returns: "an array with one array of key, denied and error for each key. The true count is between denied - error and denied. At high rates, denials are sampled, so the true count may also be larger.",
	Cost:    command.LongText, Flags: command.ReadOnly | command.Admin | command.Dangerous, Run: runTop,
}}

// maxTopReply limits the keys in a reply of RL.TOP.
const maxTopReply = 1000

func runTop(s command.Session, w *resp.Writer, args [][]byte) {
	n := int64(10)
	if len(args) > 2 {
		w.Error(command.ErrSyntax.Error())
		return
	}
	if len(args) == 2 {
		var err error
		if n, err = command.ParseIntegerBetween("n", args[1], 1, maxTopReply); err != nil {
			w.Error(err.Error())
			return
		}
	}
	keys := s.Server().Observer().MostDenied(int(n), s)
	w.Array(len(keys))
	for _, k := range keys {
		w.Array(3)
		w.Bulk(k.Key)
		w.Int(k.Count)
		w.Int(k.Error)
	}
}

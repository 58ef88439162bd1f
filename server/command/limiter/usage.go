package limiter

import (
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var usageRows = []command.Row{{
	Name: "rl.usage", Syntax: "key", Group: "limiter",
	Summary: "Show the usage of a key's limit, in the open window and in the closed windows that HISTORY keeps.",
	Returns: "a map of limit, used, reserved (charged to requests with an id that are not settled), lent, remaining, start_ms and end_ms of the open " +
		"window, in Unix milliseconds, and history. used, reserved, lent and remaining add up to the limit, unless it is in debt. history is an " +
		"array of start_ms, end_ms, used and reserved of each closed window with usage, the newest first. Without HISTORY, reserved is null, and " +
		"used includes the reserved tokens. start_ms and end_ms are null for limits without windows. The reply is null if the key does not exist.",
	Example: "alice:4",
	Cost:    command.HolderLookup, Flags: command.ReadOnly | command.Fast, Keys: command.ReadKey, Parse: command.EachKey(engine.ListWindows), Reply: replyUsage,
}}

// historyWord is the name of the option, and of the parameter in [limits.Limit.Params].
const historyWord = "HISTORY"

var optHistory = command.Option{Name: historyWord, HasValue: true, Set: setHistory}

func setHistory(_ *command.Request, op *engine.Op, value []byte) error {
	if op.Limit.Algorithm != limits.FixedWindow {
		return errKeepsNoWindows.With(specOf(op.Limit.Algorithm).word)
	}
	n, err := command.ParseIntegerBetween(historyWord, value, 1, limits.MaxHistory)
	op.Limit.History = uint8(n)
	return err
}

func replyUsage(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	switch res := &results[0]; {
	case res.Status == engine.NotFound:
		w.Null()
	case !command.WriteFailure(w, res):
		writeUsage(w, nil, res)
	}
}

// writeUsage writes other fields and then the windows of a result.
func writeUsage(w *resp.Writer, fields []command.Field, res *engine.Result) {
	fields, closed := usageFields(fields, res)
	command.WriteFields(w, append(fields, command.Field{Name: "history", Value: func(w *resp.Writer) { writeClosed(w, closed) }}))
	res.Trim()
}

// usageFields appends what a result says of the open window, and returns the closed ones.
func usageFields(fields []command.Field, res *engine.Result) (all []command.Field, closed []engine.Window) {
	open, closed := res.Windows()
	at := len(fields)
	fields = append(fields, []command.Field{{Name: "limit", Value: res.Limit}, {Name: "used", Value: open.Used - open.Reserved}, {Name: "reserved", Value: open.Reserved}, {Name: "lent", Value: res.Lent}, {Name: "remaining", Value: res.Remaining},
		{Name: "start_ms", Value: unixMillis(open.Start)}, {Name: "end_ms", Value: unixMillis(open.End)}}...)
	if res.Held.History == 0 {
		fields[at+2].Value = null
	}
	if open.End == 0 {
		fields[at+5].Value, fields[at+6].Value = null, null
	}
	return fields, closed
}

// null is the value of a field without one.
func null(w *resp.Writer) { w.Null() }

func writeClosed(w *resp.Writer, closed []engine.Window) {
	w.Array(len(closed))
	for _, c := range closed {
		w.Integers(unixMillis(c.Start), unixMillis(c.End), c.Used-c.Reserved, c.Reserved)
	}
}

// unixMillis rounds a time down to milliseconds.
func unixMillis(nanos int64) int64 { return nanos / int64(time.Millisecond) }

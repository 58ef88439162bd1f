package ops

import (
	"fmt"
	"strings"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var latencyRows = []command.Row{{
	Name: "latency", Syntax: "subcommand", Group: "server", Summary: "Inspect latency events.",
	Sub: []command.Row{
		{Name: "latest", Group: "server", Summary: "List the events that took longer than latency-monitor-threshold.",
			Returns: "an array with one array for each event: name, Unix seconds of the latest occurrence, its milliseconds, and the maximum milliseconds. Events are `command`, `event-loop` and `expire-cycle`.",
			Cost:    command.Report, Flags: command.Admin | command.Dangerous, Run: runLatencyLatest},
		{Name: "history", Syntax: "event", Group: "server", Summary: "The latest occurrences of an event, at most 160.",
			Returns: "an array with one array for each occurrence: Unix seconds, and its milliseconds.", Example: "command",
			Cost: command.Report, Flags: command.Admin | command.Dangerous, Run: runLatencyHistory},
		{Name: "doctor", Group: "server", Summary: "The events that took longer than latency-monitor-threshold, in sentences.",
			Returns: "text.",
			Since:   "0.3.0", Cost: command.Report, Flags: command.Admin | command.Dangerous, Run: runLatencyDoctor},
		{Name: "reset", Syntax: "[event ...]", Group: "server", Summary: "Delete the history of the given events, by default of all.",
			Returns: "the number of events, an integer.",
			Cost:    command.Light, Flags: command.Admin | command.Dangerous, Run: func(s command.Session, w *resp.Writer, args [][]byte) {
				w.Int(int64(s.Server().Observer().ResetLatency(command.Texts(args[2:]))))
			}},
		{Name: "histogram", Syntax: "[command ...]", Group: "server", Summary: "Latency histograms of commands since the server started.",
			Returns: "for each command, a map of calls (their number) and histogram_usec. The latter is a map from microseconds to the number of calls that took at most this time.",
			Cost:    command.Information, Flags: command.Admin | command.Dangerous, Run: runLatencyHistogram},
	},
}}

func runLatencyLatest(s command.Session, w *resp.Writer, _ [][]byte) {
	events := s.Server().Observer().LatencyEvents()
	w.Array(len(events))
	for _, e := range events {
		w.Array(4)
		w.BulkString(e.Event)
		w.Int(e.Latest.UnixSec)
		w.Int(e.Latest.Millis)
		w.Int(e.Longest)
	}
}

func runLatencyDoctor(s command.Session, w *resp.Writer, _ [][]byte) {
	events := s.Server().Observer().LatencyEvents()
	if len(events) == 0 {
		w.Verbatim("No event took longer than latency-monitor-threshold. If the threshold is 0, none is recorded: " +
			"CONFIG SET latency-monitor-threshold sets it in milliseconds.")
		return
	}
	var text strings.Builder
	for _, e := range events {
		fmt.Fprintf(&text, "%s: %d ms at the latest occurrence, %d ms at most. LATENCY HISTORY %s lists them.\n", e.Event, e.Latest.Millis, e.Longest, e.Event)
	}
	text.WriteString("SLOWLOG GET shows the slowest commands.")
	w.Verbatim(text.String())
}

func runLatencyHistory(s command.Session, w *resp.Writer, args [][]byte) {
	history := s.Server().Observer().LatencyHistory(strings.ToLower(string(args[2])))
	w.Array(len(history))
	for _, h := range history {
		w.Array(2)
		w.Int(h.UnixSec)
		w.Int(h.Millis)
	}
}

func runLatencyHistogram(s command.Session, w *resp.Writer, args [][]byte) {
	var names []string
	for _, a := range args[2:] {
		names = append(names, strings.ToLower(string(a)))
	}
	commands := s.Server().Observer().Latencies(names)
	w.Map(len(commands))
	for _, c := range commands {
		w.BulkString(c.Command)
		w.Map(2)
		w.BulkString("calls")
		w.Int(c.Calls)
		w.BulkString("histogram_usec")
		w.Map(len(c.Micros))
		for i := range c.Micros {
			w.Int(c.Micros[i])
			w.Int(c.Counts[i])
		}
	}
}

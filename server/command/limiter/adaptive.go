package limiter

import (
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/resp"
)

var adaptiveRows = []command.Row{acquireRow("ad.acquire", limits.Adaptive, "key capacity min max [tokens] [PEEK] [MAXWAIT duration | BLOCK duration]", "alice:12 5 1/s 10/s",
	"Take tokens (default 1) from a token bucket whose rate follows the reports of AD.REPORT, between the rates min and max. The rate begins at max.",
	optPeek, optMaxWait, optBlock), {
	Name: "ad.report", Syntax: "key good bad [EVERY duration] [DOWN percent] [UP percent] [PAUSE duration]", Group: "limiter",
	Summary: "Report how many calls of the backend were good and bad, to adapt the rate of AD.ACQUIRE. The rate changes at most once per EVERY (default 1s). After a bad call, it falls to DOWN (default 80%) of its present value. Without bad calls, it rises by UP (default 5%) of max if at least half of the rate was used. PAUSE, such as the time of a Retry-After, stops all grants for this time; the longest pause wins. A key that is not used for ten minutes forgets its rate.",
	Returns: "an array of the rate in tokens per second, as text, and the remaining milliseconds of the pause; null for a key without a limiter.",
	Example: "alice:12 5 0",
	Cost:    command.Light, Flags: command.Write | command.Fast | command.NotInScripts, Keys: command.ChangedKey, Parse: parseReport, Reply: replyReport,
}}

// The defaults of AD.REPORT.
const (
	defaultEvery = 1_000_000_000
	defaultDown  = 80 * engine.WholeRate / 100
	defaultUp    = 5 * engine.WholeRate / 100
)

var reportOptions = []command.Option{
	{Name: "EVERY", HasValue: true, Set: func(_ *command.Request, op *engine.Op, value []byte) (err error) {
		op.Report.Every, err = command.ParseDuration("EVERY", value)
		return err
	}},
	{Name: "DOWN", HasValue: true, Set: func(_ *command.Request, op *engine.Op, value []byte) (err error) {
		op.Report.Down, err = percent("DOWN", value, engine.WholeRate-1)
		return err
	}},
	{Name: "UP", HasValue: true, Set: func(_ *command.Request, op *engine.Op, value []byte) (err error) {
		op.Report.Up, err = percent("UP", value, engine.WholeRate)
		return err
	}},
	{Name: "PAUSE", HasValue: true, Set: func(_ *command.Request, op *engine.Op, value []byte) (err error) {
		op.Report.Pause, err = command.ParseDuration("PAUSE", value)
		return err
	}},
}

// percent parses a percentage above 0 and returns thousandths of a percent.
func percent(name string, text []byte, most int64) (int64, error) {
	share, ok := parseKeep(text)
	if thousandths := -int64(share); ok && strings.HasSuffix(string(text), "%") && thousandths > 0 && thousandths <= most {
		return thousandths, nil
	}
	if most < engine.WholeRate {
		return 0, command.ArgumentError(name, "must be a percentage above 0% and below 100% with at most three decimals", text)
	}
	return 0, command.ArgumentError(name, "must be a percentage above 0% and at most 100% with at most three decimals", text)
}

func parseReport(r *command.Request) (err error) {
	report := &engine.Report{Every: defaultEvery, Down: defaultDown, Up: defaultUp}
	op := engine.Op{Verb: engine.Adapt, Key: r.Args[1], Report: report}
	if err := r.Key(op.Key); err != nil {
		return err
	}
	if report.Good, err = command.ParseIntegerBetween("good", r.Args[2], 0, engine.MaxReported); err != nil {
		return err
	}
	if report.Bad, err = command.ParseIntegerBetween("bad", r.Args[3], 0, engine.MaxReported); err != nil {
		return err
	}
	if err := r.Options(&op, r.Args[4:], reportOptions); err != nil {
		return err
	}
	r.Ops = append(r.Ops, op)
	return nil
}

func replyReport(w *resp.Writer, _ []engine.Op, results []engine.Result) {
	res := &results[0]
	if res.Status == engine.NotFound {
		w.Null()
		return
	}
	if command.WriteFailure(w, res) {
		return
	}
	w.Array(2)
	w.Bulk(res.Reply)
	w.Int(command.Millis(res.Wait))
}

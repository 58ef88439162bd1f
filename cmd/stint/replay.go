package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/progress"

	_ "time/tzdata"

	"github.com/stintdb/stint/cmd/stint/replay"
	"github.com/stintdb/stint/server/config"
)

// for --time-zone: the image has no database, nor have many machines

const replayUsage = `Usage: stint replay --limit LIMITS | --suggest P% [flags] LOG...

Shows which requests in an access log your limits would have denied. It decides
as a server would have decided at the time of each line. LOG is a file, which
may be compressed with gzip, or - for standard input.

  --limit LIMITS      the limits to try, as in RL.POLICY SET, such as
                      'TB {} 100 10/s'; {} stands for the key, {name} for a
                      field of the line. Repeat the flag to try several
  --against LIMITS    the limits to compare with, in the same form
  --suggest P%        find the smallest token bucket that denies less than P %
                      of the requests. It reads the log twice, or about 15
                      times if --max-memory is too small for all its times
  --except K          with --suggest, leave out the K keys with the most
                      requests [default 0]
  --key FIELDS        the field that names the caller, or several separated by
                      commas [default ip]
  --format FORMAT     combined (nginx, Apache), or json (one object on each
                      line) [default: found by the first line]
  --time-field NAME   the field of json with the time [default: time,
                      timestamp, ts or another usual name]
  --time-zone ZONE    the zone of times that name none, such as Europe/Berlin
                      [default UTC]
  --top N             how many keys and runs of denials to list, 1 to 1000; at
                      most 10 runs [default 10]
  --max-memory SIZE   stop when the keys need more memory [default 1gb]
  --json              print one JSON object

Exit code 0: success. 1: the log cannot be read, or has too many keys. 2: wrong
arguments.
`

// replay is the command `stint replay`.
func (p *process) replay(ctx context.Context, args []string) error {
	plan := &replay.Plan{Stdin: os.Stdin}
	var limits []string
	var against, suggest, key, zone, memory string
	var asJSON bool
	set := cli.NewFlags("replay")
	set.StringArrayVar(&limits, "limit", nil, "")
	set.StringVar(&against, "against", "", "")
	set.StringVar(&suggest, "suggest", "", "")
	set.IntVar(&plan.Except, "except", 0, "")
	set.StringVar(&key, "key", "ip", "")
	set.StringVar(&plan.Format, "format", "", "")
	set.StringVar(&plan.TimeField, "time-field", "", "")
	set.StringVar(&zone, "time-zone", "UTC", "")
	set.IntVar(&plan.Top, "top", 10, "")
	set.StringVar(&memory, "max-memory", "1gb", "")
	set.BoolVar(&asJSON, "json", false, "")
	if err := cli.ParseFlags(set, args); err != nil {
		return err
	}
	plan.Paths, plan.Key = set.Args(), strings.Split(key, ",")
	if against != "" {
		limits = append(limits, against)
	}
	most, err := readReplay(plan, limits, suggest, zone, memory)
	if err != nil {
		return cli.Errorf("%w; 'stint replay --help' explains", err)
	}
	line := progress.New(p.stderr)
	if most > 0 { // which may take minutes
		line.OrLines(p.stderr)
	}
	showProgress(line, plan)
	report, err := endReplay(ctx, func() (*replay.Report, error) { return runReplay(ctx, plan, most) })
	line.Clear()
	if err != nil {
		return err
	}
	if asJSON {
		return json.NewEncoder(p.stdout).Encode(report)
	}
	return report.WriteText(p.stdout)
}

// endReplay runs a replay, and returns when ctx ends, even while the replay waits for its standard input.
func endReplay(ctx context.Context, run func() (*replay.Report, error)) (*replay.Report, error) {
	done := make(chan struct{})
	var ran *replay.Report
	var failed error
	go func() {
		defer close(done)
		ran, failed = run()
	}()
	select {
	case <-done:
		return ran, failed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// runReplay runs the plan, with a suggestion if most, the share of requests that it may deny, is above 0.
func runReplay(ctx context.Context, plan *replay.Plan, most float64) (*replay.Report, error) {
	if most == 0 {
		return plan.Run(ctx)
	}
	suggestion, err := plan.Suggest(ctx, most)
	if err != nil {
		return nil, err
	}
	report, err := plan.Run(ctx)
	if err == nil {
		suggestion.Complete(report)
	}
	return report, err
}

// readReplay checks the arguments and completes the plan. most is the share of --suggest, 0 without it.
func readReplay(plan *replay.Plan, limits []string, suggest, zone, memory string) (most float64, err error) {
	switch {
	case len(plan.Paths) == 0:
		return 0, errors.New("name a log, or - for standard input")
	case len(limits) == 0 && suggest == "":
		return 0, errors.New("name limits to try: --limit 'TB {} 100 10/s', or --suggest 1%")
	case plan.Except < 0 || plan.Except > 1000:
		return 0, fmt.Errorf("--except: must be 0 to 1000, got %d", plan.Except)
	case plan.Top < 1 || plan.Top > 1000:
		return 0, fmt.Errorf("--top: must be 1 to 1000, got %d", plan.Top)
	case plan.Format != "" && !slices.Contains(replay.FormatNames(), plan.Format):
		return 0, fmt.Errorf("--format: must be one of %s, got '%s'", strings.Join(replay.FormatNames(), ", "), plan.Format)
	}
	if suggest != "" {
		percent, err := strconv.ParseFloat(strings.TrimSuffix(suggest, "%"), 64)
		if most = percent / 100; err != nil || !(most > 0 && most < 1) {
			return 0, fmt.Errorf("--suggest: must be a percentage above 0%% and below 100%%, such as 1%%, got '%s'", suggest)
		}
	}
	if plan.Zone, err = time.LoadLocation(zone); err != nil {
		return 0, fmt.Errorf("--time-zone: %w", err)
	}
	var ok bool
	if plan.MaxMemory, ok = config.ParseSize(memory); !ok || plan.MaxMemory < 1<<20 {
		return 0, fmt.Errorf("--max-memory: must be a size of 1mb or more, such as 4gb, got '%s'", memory)
	}
	for _, text := range limits {
		l, err := replay.ParseLimits(text)
		if err != nil {
			return 0, err
		}
		plan.Limits = append(plan.Limits, l)
	}
	return most, nil
}

// showProgress makes the plan show how much of the log it has read.
func showProgress(l *progress.Line, plan *replay.Plan) {
	plan.Progress = func(reading int, requests int64, share float64) {
		l.Show(func() string {
			text := fmt.Sprintf("%d requests", requests)
			if reading > 1 {
				text = fmt.Sprintf("reading %d: %s", reading, text)
			}
			if share > 0 {
				text += fmt.Sprintf(", %.0f %% of the log", 100*share)
			}
			return text
		})
	}
}

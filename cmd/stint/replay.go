package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/stintdb/stint/cmd/stint/replay"
	"github.com/stintdb/stint/server/config"
)

const replayUsage = `Usage: stint replay --limit LIMITS [flags] LOG...

Shows the requests of an access log that limits would have denied. It decides
as a server would have at the time of each line. LOG is a file, which may be
compressed with gzip, or - for standard input.

  --limit LIMITS      limits as in RL.POLICY SET, such as 'TB {} 100 10/s'; {}
                      is the key, {name} a field of the line. Give it several
                      times to try several
  --against LIMITS    the limits to compare with, in the same way
  --key FIELDS        the field that names the caller, or several with commas
                      between them [default ip]
  --format FORMAT     combined (nginx, Apache), json (an object on each line),
                      csv (the first line names the columns), or envoy (its
                      default) [default: by the first line]
  --time-field NAME   the time of json and csv [default: time, timestamp, ts and
                      other usual names]
  --time-zone ZONE    of times that name none, such as Europe/Berlin
                      [default UTC]
  --top N             keys and runs of denials listed, 1 to 1000; at most 10
                      runs [default 10]
  --max-memory SIZE   stop when the keys take more [default 1gb]
  --json              print one JSON object
  --html FILE         write a page with charts as well

Exit code 1: the log cannot be read, or has too many keys.
`

// replay is the command `stint replay`.
func (p *process) replay(ctx context.Context, args []string) error {
	plan := &replay.Plan{Stdin: os.Stdin}
	var limits []string
	var against, key, zone, memory, page string
	var asJSON bool
	set := newFlags("replay")
	set.StringArrayVar(&limits, "limit", nil, "")
	set.StringVar(&against, "against", "", "")
	set.StringVar(&key, "key", "ip", "")
	set.StringVar(&plan.Format, "format", "", "")
	set.StringVar(&plan.TimeField, "time-field", "", "")
	set.StringVar(&zone, "time-zone", "UTC", "")
	set.IntVar(&plan.Top, "top", 10, "")
	set.StringVar(&memory, "max-memory", "1gb", "")
	set.BoolVar(&asJSON, "json", false, "")
	set.StringVar(&page, "html", "", "")
	if err := parseFlags(set, args); err != nil {
		return err
	}
	plan.Paths, plan.Key = set.Args(), strings.Split(key, ",")
	if against != "" {
		limits = append(limits, against)
	}
	if err := readReplay(plan, limits, zone, memory); err != nil {
		return usagef("%w; 'stint replay --help' explains", err)
	}
	done := p.showProgress(plan)
	report, err := plan.Run(ctx)
	done()
	if err != nil {
		return err
	}
	if page != "" {
		var text bytes.Buffer
		report.WriteHTML(&text)
		if err := os.WriteFile(page, text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	if asJSON {
		return json.NewEncoder(p.stdout).Encode(report)
	}
	return report.WriteText(p.stdout)
}

// readReplay checks the arguments and completes the plan.
func readReplay(plan *replay.Plan, limits []string, zone, memory string) (err error) {
	switch {
	case len(plan.Paths) == 0:
		return errors.New("name a log, or - for standard input")
	case len(limits) == 0:
		return errors.New("name limits to try: --limit 'TB {} 100 10/s'")
	case plan.Top < 1 || plan.Top > 1000:
		return fmt.Errorf("--top: must be 1 to 1000, got %d", plan.Top)
	case plan.Format != "" && !slices.Contains(replay.FormatNames(), plan.Format):
		return fmt.Errorf("--format: must be one of %s, got '%s'", strings.Join(replay.FormatNames(), ", "), plan.Format)
	}
	if plan.Zone, err = time.LoadLocation(zone); err != nil {
		return fmt.Errorf("--time-zone: %w", err)
	}
	var ok bool
	if plan.MaxMemory, ok = config.ParseSize(memory); !ok || plan.MaxMemory < 1<<20 {
		return fmt.Errorf("--max-memory: must be a size of 1mb or more, such as 4gb, got '%s'", memory)
	}
	for _, text := range limits {
		l, err := replay.ParseLimits(text)
		if err != nil {
			return err
		}
		plan.Limits = append(plan.Limits, l)
	}
	return nil
}

// showProgress has the plan write a line to a terminal at most every 200 ms. done removes it.
func (p *process) showProgress(plan *replay.Plan) (done func()) {
	out, is := p.stderr.(*os.File)
	if !is {
		return func() {}
	}
	if info, err := out.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return func() {}
	}
	const clear = "\r\x1b[K"
	last := time.Now()
	plan.Progress = func(requests int64, share float64) {
		if time.Since(last) < 200*time.Millisecond {
			return
		}
		last = time.Now()
		text := fmt.Sprintf("%d requests", requests)
		if share > 0 {
			text += fmt.Sprintf(", %.0f %% of the log", 100*share)
		}
		io.WriteString(out, clear+text)
	}
	return func() { io.WriteString(out, clear) }
}

package replay

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stintdb/stint/internal/bytetext"
)

// WriteText writes the report for people.
func (o *Report) WriteText(to io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "requests  %d of %s (%s), from %s to %s\n", o.Requests, count(o.Keys, "key"), strings.Join(o.Key, ":"), stamp(o.From), stamp(o.To))
	fmt.Fprintf(&out, "log       %s, format %s", count(o.Lines, "line"), o.Format)
	if o.Unread > 0 {
		fmt.Fprintf(&out, "; %d could not be read, the first on %s", o.Unread, o.FirstUnread)
	}
	if o.Backwards > 0 {
		fmt.Fprintf(&out, "\n          %d lines have a time before that of an earlier line, by %s at most; they were decided at the later time: name the oldest log first", o.Backwards, time.Duration(o.FurthestBack))
	}
	fmt.Fprintf(&out, "\nmemory    %s for this replay\n", bytesText(o.Memory))
	for i := range o.Limits {
		o.Limits[i].write(&out)
	}
	if len(o.Limits) > 1 && o.Suggestion == nil {
		a, b := &o.Limits[0], &o.Limits[len(o.Limits)-1]
		fmt.Fprintf(&out, "\nagainst   the last denies %+d requests and %+d keys compared with the first, and takes %+d KB on a server\n",
			b.Denied-a.Denied, b.DeniedKeys-a.DeniedKeys, (b.Bytes-a.Bytes)>>10)
	}
	if o.Suggestion != nil {
		o.Suggestion.write(&out)
	}
	_, err := io.WriteString(to, out.String())
	return err
}

func (s *Suggestion) write(out *strings.Builder) {
	fmt.Fprintf(out, "\nsuggested %s\n", s.Limits)
	fmt.Fprintf(out, "  denies  %s of the requests, less than %s", percent(s.RestShare), percent(s.Most))
	if s.Except > 0 {
		fmt.Fprintf(out, ", of all keys but the %d with the most requests; %s of theirs", s.Except, percent(s.TopShare))
	}
	out.WriteString("\n")
	fmt.Fprintf(out, "  open    each key can still take %d requests in a minute and %d in an hour, and a caller with several keys as often\n", s.InMinute, s.InHour)
	out.WriteString("  choices")
	for i, b := range s.Others {
		if i > 0 {
			out.WriteString(",")
		}
		fmt.Fprintf(out, " %d %s", b.Capacity, b.Rate)
	}
	out.WriteString("\n")
}

func (l *Outcome) write(out *strings.Builder) {
	fmt.Fprintf(out, "\n%s\n", l.Limits)
	fmt.Fprintf(out, "  denied  %s, %s; %s denied\n", count(l.Denied, "request"), percent(l.DeniedShare), count(l.DeniedKeys, "key"))
	if len(l.ByLimit) > 1 {
		for _, b := range l.ByLimit {
			fmt.Fprintf(out, "          %d by %s\n", b.Denied, b.Limit)
		}
	}
	fmt.Fprintf(out, "  memory  %s on a server\n", bytesText(l.Bytes))
	if l.Denied == 0 {
		return
	}
	out.WriteString("  most denied\n")
	for _, k := range l.MostDenied {
		fmt.Fprintf(out, "    %-40s %d of %d, %s\n", printable(k.Key), k.Denied, k.Requests, percent(k.Share))
	}
	out.WriteString("  longest runs of denials\n")
	for _, r := range l.Runs {
		fmt.Fprintf(out, "    %-40s %d in %s from %s\n", printable(r.Key), r.Denied, lasted(r.To.Sub(r.From)), stamp(r.From))
	}
}

func stamp(t time.Time) string { return t.Format("2006-01-02T15:04:05Z07:00") }

// lasted is the time from the first to the last request of a run. Many logs have whole seconds only.
func lasted(d time.Duration) string {
	switch {
	case d == 0:
		return "less than 1 s"
	case d < time.Second:
		return fmt.Sprintf("%.2g s", d.Seconds())
	}
	return d.Round(time.Millisecond).String()
}

// count is a number of things.
func count[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func percent(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

// bytesText writes a number of bytes with its unit.
func bytesText(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
}

// printable replaces characters that could control a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, bytetext.Shown(text))
}

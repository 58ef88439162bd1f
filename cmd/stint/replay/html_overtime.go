package replay

import (
	"fmt"
	"html"
	"slices"
	"strings"
	"time"
)

// The size of the chart of one key, in its own units.
const (
	rowWidth  = 960
	rowHeight = 60
)

// writeOverTime draws a row for each of the busiest keys, with a common scale, and one for all others, with its own scale: the granted requests of
// each interval, and the denied ones on top.
func (o *Report) writeOverTime(out *strings.Builder, l *Outcome) {
	if len(l.OverTime) < 2 {
		return
	}
	out.WriteString("<h3>Who got what over time</h3>\n<p>The keys with the most requests, all on one scale, and all other keys on another. A key that became busy late is among the others until then.</p>\n")
	keys, others := l.OverTime[:len(l.OverTime)-1], &l.OverTime[len(l.OverTime)-1]
	var most int64 = 1
	for i := range keys {
		most = max(most, keys[i].most())
	}
	for i := range keys {
		o.writeRow(out, &keys[i], printable(keys[i].Key), most)
	}
	if othersMost := others.most(); othersMost > 0 {
		o.writeRow(out, others, "all others", othersMost)
	}
	fmt.Fprintf(out, "<p class=\"ends\"><span>%s</span><span>%s</span></p>\n", stamp(o.From), stamp(o.To))
}

// most is the largest number of requests in an interval.
func (k *KeySeries) most() (most int64) {
	for i := range k.Granted {
		most = max(most, k.Granted[i]+k.Denied[i])
	}
	return most
}

func (o *Report) writeRow(out *strings.Builder, k *KeySeries, name string, most int64) {
	granted, denied := sum(k.Granted), sum(k.Denied)
	text := html.EscapeString(fmt.Sprintf("%s: %d granted, %d denied", name, granted, denied))
	fmt.Fprintf(out, "<figure><figcaption>%s; at most %d requests in %s</figcaption><svg viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"%s\">"+
		"<line class=\"rule\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>", text, k.most(), time.Duration(o.Interval)*time.Second, rowWidth, rowHeight, text, rowWidth, rowHeight, rowHeight)
	writeColumns(out, "granted", nil, k.Granted, most)
	writeColumns(out, "denied", k.Granted, k.Denied, most)
	out.WriteString("</svg></figure>\n")
}

// writeColumns draws a column for each interval as one path, on top of those below.
func writeColumns(out *strings.Builder, class string, below, counts []int64, most int64) {
	if !slices.ContainsFunc(counts, func(n int64) bool { return n > 0 }) {
		return
	}
	step, scale := float64(rowWidth)/float64(len(counts)), float64(rowHeight)/float64(most)
	fmt.Fprintf(out, "<path class=\"%s\" d=\"", class)
	for i, n := range counts {
		if n == 0 {
			continue
		}
		bottom := float64(rowHeight)
		if below != nil {
			bottom -= scale * float64(below[i])
		}
		fmt.Fprintf(out, "M%.1f %.1fh%.1fv%.1fh%.1fz", step*float64(i), bottom, step*0.9, -scale*float64(n), -step*0.9)
	}
	out.WriteString("\"/>")
}

func sum(counts []int64) (all int64) {
	for _, n := range counts {
		all += n
	}
	return all
}

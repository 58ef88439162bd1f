package replay

import (
	"fmt"
	"html"
	"io"
	"strings"
	"time"
)

// pageStyle has colours for light and dark. The page loads nothing.
const pageStyle = `:root{color-scheme:light dark;--ink:#1c1f23;--soft:#5b636d;--line:#d8dce1;--paper:#fff;--granted:#2a78c2;--denied:#c2410c}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a3abb5;--line:#3a4048;--paper:#16181b;--granted:#6cb2f5;--denied:#ff8a4c}}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;margin:2rem auto;padding:0 1rem}
svg{width:100%;height:auto;display:block}table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.2rem .8rem .2rem 0;border-bottom:1px solid var(--line)}
td.n,th.n{text-align:right}td.key{overflow-wrap:anywhere}.granted{fill:var(--granted)}.denied{fill:var(--denied)}.axis{fill:var(--soft);font-size:11px}.rule{stroke:var(--line)}
.box{display:inline-block;width:.8em;height:.8em;margin-right:.3em}pre{white-space:pre-wrap}h2{margin-top:2.5rem;overflow-wrap:anywhere}p{color:var(--soft)}.wide{overflow-x:auto}
figure{margin:.5rem 0}figure svg{height:60px}figcaption{overflow-wrap:anywhere}.ends{display:flex;justify-content:space-between;gap:1rem;font-size:.875rem}
`

// WriteHTML writes the report as one page with charts, which needs no network.
func (o *Report) WriteHTML(to io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">"+
		"<title>stint replay</title><style>%s</style></head><body><main>\n<h1>stint replay</h1>\n", pageStyle)
	fmt.Fprintf(&out, "<p>%d requests of %d keys (%s), from %s to %s. %d of %d lines could not be read.</p>\n",
		o.Requests, o.Keys, html.EscapeString(strings.Join(o.Key, ":")), stamp(o.From), stamp(o.To), o.Unread, o.Lines)
	for i := range o.Limits {
		o.writeOutcome(&out, &o.Limits[i])
	}
	if o.Suggestion != nil {
		var text strings.Builder
		o.Suggestion.write(&text)
		fmt.Fprintf(&out, "<h2>Suggestion</h2>\n<pre>%s</pre>\n", html.EscapeString(strings.TrimSpace(text.String())))
	}
	out.WriteString("</main></body></html>\n")
	_, err := io.WriteString(to, out.String())
	return err
}

func (o *Report) writeOutcome(out *strings.Builder, l *Outcome) {
	fmt.Fprintf(out, "<h2>%s</h2>\n<p>%d requests denied, %s, of %d keys. The keys take %s on a server.</p>\n",
		html.EscapeString(l.Limits), l.Denied, percent(l.DeniedShare), l.DeniedKeys, bytesText(l.Bytes))
	fmt.Fprintf(out, "<h3>Requests in %s each</h3>\n<p>%sgranted &nbsp; %sdenied</p>\n", time.Duration(o.Interval)*time.Second, legend("granted"), legend("denied"))
	o.writeTimeline(out, l)
	o.writeOverTime(out, l)
	out.WriteString("<h3>Most denied keys</h3>\n")
	writeBars(out, l.MostDenied)
	out.WriteString("<h3>Tightest keys, by the share of their requests that is denied</h3>\n")
	writeBars(out, l.Tightest)
	if len(l.Runs) > 0 {
		out.WriteString("<h3>Longest runs of denials</h3>\n<div class=\"wide\" tabindex=\"0\"><table><tr><th>key</th><th class=\"n\">denials</th><th class=\"n\">within</th><th>from</th></tr>\n")
		for _, r := range l.Runs {
			fmt.Fprintf(out, "<tr><td class=\"key\">%s</td><td class=\"n\">%d</td><td class=\"n\">%s</td><td>%s</td></tr>\n",
				html.EscapeString(printable(r.Key)), r.Denied, r.To.Sub(r.From), stamp(r.From))
		}
		out.WriteString("</table></div>\n")
	}
}

func legend(name string) string {
	return `<svg class="box" style="display:inline-block;width:.8em" viewBox="0 0 1 1" aria-hidden="true"><rect class="` + name + `" width="1" height="1"/></svg>`
}

// The size of the chart over time, in its own units.
const (
	chartWidth  = 960
	chartHeight = 220
	chartLeft   = 70
	chartBottom = 30
)

// writeTimeline draws a column for each interval: the granted requests, and the denied ones on top.
func (o *Report) writeTimeline(out *strings.Builder, l *Outcome) {
	var most int64 = 1
	for _, n := range o.PerInterval {
		most = max(most, n)
	}
	const width, height = chartWidth - chartLeft, chartHeight - chartBottom
	fmt.Fprintf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Requests over time: %d of %d were denied\">\n", chartWidth, chartHeight+10, l.Denied, o.Requests)
	for _, n := range []int64{0, most / 2, most} {
		y := 10 + height - float64(height)*float64(n)/float64(most)
		fmt.Fprintf(out, "<line class=\"rule\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"axis\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d</text>\n",
			chartLeft, chartWidth, y, y, chartLeft-8, y+4, n)
	}
	step := float64(width) / float64(len(o.PerInterval))
	for i, n := range o.PerInterval {
		if n == 0 {
			continue
		}
		denied := float64(height) * float64(l.PerInterval[i]) / float64(most)
		granted := float64(height)*float64(n)/float64(most) - denied
		x, bar := chartLeft+step*float64(i), max(step*0.9, 0.5)
		fmt.Fprintf(out, "<g><title>%s: %d requests, %d denied</title><rect class=\"granted\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>"+
			"<rect class=\"denied\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/></g>\n",
			stamp(o.From.Add(time.Duration(i)*time.Duration(o.Interval)*time.Second)), n, l.PerInterval[i],
			x, 10+height-granted, bar, granted, x, 10+height-granted-denied, bar, denied)
	}
	fmt.Fprintf(out, "<text class=\"axis\" x=\"%d\" y=\"%d\">%s</text><text class=\"axis\" x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n</svg>\n",
		chartLeft, chartHeight+4, stamp(o.From), chartWidth, chartHeight+4, stamp(o.To))
}

// writeBars draws a bar for each key: the granted part of its requests, and the denied part.
func writeBars(out *strings.Builder, keys []KeyLine) {
	if len(keys) == 0 {
		out.WriteString("<p>None.</p>\n")
		return
	}
	var most int64
	for _, k := range keys {
		most = max(most, k.Requests)
	}
	out.WriteString("<div class=\"wide\" tabindex=\"0\"><table><tr><th>key</th><th class=\"n\">requests</th><th class=\"n\">denied</th><th class=\"n\">share</th><th style=\"width:40%\">granted, denied</th></tr>\n")
	for _, k := range keys {
		granted, denied := 100*float64(k.Requests-k.Denied)/float64(most), 100*float64(k.Denied)/float64(most)
		fmt.Fprintf(out, "<tr><td class=\"key\">%s</td><td class=\"n\">%d</td><td class=\"n\">%d</td><td class=\"n\">%s</td><td>"+
			"<svg viewBox=\"0 0 100 6\" preserveAspectRatio=\"none\" style=\"height:1em\" aria-hidden=\"true\"><rect class=\"granted\" width=\"%.2f\" height=\"6\"/><rect class=\"denied\" x=\"%.2f\" width=\"%.2f\" height=\"6\"/></svg></td></tr>\n",
			html.EscapeString(printable(k.Key)), k.Requests, k.Denied, percent(k.Share), granted, granted, denied)
	}
	out.WriteString("</table></div>\n")
}

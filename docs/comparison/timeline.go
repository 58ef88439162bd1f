package main

import (
	"bytes"
	"fmt"
)

// A timeline's picture, in pixels. It is narrow, so that a telephone shows its words large enough.
const (
	timelineWidth                = 400.0
	timelineLeft, timelineTop    = 46.0, 62.0
	timelinePlot, timelineHeight = 336.0, 190.0
)

// timelineStyle has the colours of a light page, and of a dark one. The lines differ in their dashes too, so they can be told apart without colours.
const timelineStyle = `<style>
text { font: 13px system-ui, "Helvetica Neue", Arial, sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 }
.ground { fill: #ffffff }
.axis { stroke: #818b98; fill: none }
.grid { stroke: #d1d9e0; fill: none }
.ideal { stroke: #d1d9e0; stroke-width: 9; fill: none }
.line { fill: none; stroke-width: 2.5; stroke-linejoin: round }
.line0 { stroke: #0969da }
.line1 { stroke: #953800; stroke-dasharray: 8 4 }
.line2 { stroke: #1a7f37; stroke-dasharray: 2 3 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.ground { fill: #0d1117 }
.grid { stroke: #2a313c }
.ideal { stroke: #3d444d }
.line0 { stroke: #58a6ff }
.line1 { stroke: #f0883e }
.line2 { stroke: #56d364 }
}
</style>
`

// draw draws each line over a broad band, its ideal.
func (t *timeline) draw() []byte {
	legend := timelineTop + timelineHeight + 48
	height := legend + 22*float64(len(t.lines)) + 16
	seconds := float64(int64(len(t.lines[0].got))*t.bin) / float64(second)
	x := func(s float64) float64 { return timelineLeft + timelinePlot*s/seconds }
	y := func(rate float64) float64 { return timelineTop + float64(timelineHeight*(1-min(rate, t.most)/t.most)) }
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %[1]g %[2]g" role="img">`+"\n", timelineWidth, height)
	fmt.Fprintf(&out, "<title>%s: %s</title>\n%s", t.title, t.detail, timelineStyle)
	fmt.Fprintf(&out, `<rect class="ground" width="%g" height="%g" rx="8"/>`+"\n", timelineWidth, height)
	text(&out, 12, 24, "title", t.title)
	text(&out, 12, 44, "detail", t.detail)
	for rate := 0.0; rate <= t.most; rate += t.grid {
		fmt.Fprintf(&out, `<path class="grid" d="M%g %.1fh%g"/>`+"\n", timelineLeft, y(rate), timelinePlot)
		fmt.Fprintf(&out, `<text text-anchor="end" x="%g" y="%.1f">%g</text>`+"\n", timelineLeft-6, y(rate)+4, rate)
	}
	fmt.Fprintf(&out, `<path class="axis" d="M%g %gv%gh%g"/>`+"\n", timelineLeft, timelineTop, timelineHeight, timelinePlot)
	for s := 0.0; s <= seconds; s += seconds / 5 {
		fmt.Fprintf(&out, `<text text-anchor="middle" x="%.1f" y="%g">%g s</text>`+"\n", x(s)-6, timelineTop+timelineHeight+18, s)
	}
	for _, l := range t.lines {
		last := l.ideal(0)
		path := fmt.Sprintf("M%.1f %.1f", x(0), y(last))
		for i := range l.got {
			from := float64(int64(i)*t.bin) / float64(second)
			if ideal := l.ideal(from); ideal != last {
				path += fmt.Sprintf("L%.1f %.1fL%.1f %.1f", x(from), y(last), x(from), y(ideal))
				last = ideal
			}
		}
		fmt.Fprintf(&out, `<path class="ideal" d="%sL%.1f %.1f"/>`+"\n", path, x(seconds), y(last))
	}
	for i, l := range t.lines {
		path, verb := "", "M"
		for j, got := range l.got {
			path += fmt.Sprintf("%s%.1f %.1f", verb, x((float64(j)+0.5)*float64(t.bin)/float64(second)), y(got))
			verb = "L"
		}
		fmt.Fprintf(&out, `<path class="line line%d" d="%s"/>`+"\n", i, path)
		t.explain(&out, legend+22*float64(i), fmt.Sprintf("line line%d", i), l.name)
	}
	t.explain(&out, legend+22*float64(len(t.lines)), "ideal", "the ideal of each")
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func (t *timeline) explain(out *bytes.Buffer, at float64, class, words string) {
	fmt.Fprintf(out, `<path class="%s" d="M12 %gh40"/>`+"\n", class, at-4)
	text(out, 62, at, "name", words)
}

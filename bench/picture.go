package main

import (
	"fmt"
	"slices"
	"strings"
)

// The picture of CPU per request, in pixels.
const (
	pictureWidth              = 560.0
	barsLeft, longestBar      = 165.0, 210.0
	panelsTop, barRow, barGap = 66.0, 22.0, 38.0
)

// A bar is a series of the picture, with its name there and its colour.
type bar struct{ series, name, class string }

var bars = []bar{
	{lua, "Script on Redis", "other"},
	{stintLua, "Same script on Stint", "stint"},
	{redisCell, "redis-cell", "other"}, // given with -redis-cell
	{throttle, "CL.THROTTLE on Stint", "stint"},
	{valkeySet, "Valkey, only SET", "floor"},
	{redisPing, "Redis, only PING", "floor"},
}

// pictureStyle has the colours of a light page, and of a dark one.
const pictureStyle = `<style>
text { font: 13px system-ui, "Helvetica Neue", Arial, sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 }
.name { font-weight: 600 }
.ground { fill: #ffffff }
.other { fill: #818b98 }
.stint { fill: #0969da }
.floor { fill: #d1d9e0 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.ground { fill: #0d1117 }
.other { fill: #656c76 }
.stint { fill: #58a6ff }
.floor { fill: #3d444d }
}
</style>
`

// cpuPicture draws CPU per request, and the requests that one core could serve, at each pipeline.
func cpuPicture(f Figures) string {
	micros := func(b bar, pipeline int) float64 { return median(f[Key{b.series, Cell{manyKeys, pipeline}.ID(), cpu}]) }
	drawn := slices.DeleteFunc(slices.Clone(bars), func(b bar) bool { return !(micros(b, 1) > 0) })
	panel := barRow*float64(len(drawn)) + barGap
	height := panelsTop + panel*float64(len(pipelines))
	var out strings.Builder
	text := func(x, y float64, class, words string) {
		fmt.Fprintf(&out, `<text class="%s" x="%.1f" y="%g">%s</text>`+"\n", class, x, y, words)
	}
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %[1]g %[2]g" role="img">`+"\n", pictureWidth, height)
	fmt.Fprintf(&out, "<title>CPU of the server per decision, and the decisions a second that one core could serve</title>\n%s", pictureStyle)
	fmt.Fprintf(&out, `<rect class="ground" width="%g" height="%g" rx="8"/>`+"\n", pictureWidth, height)
	text(12, 24, "title", "CPU of the server per decision")
	text(12, 44, "detail", "and the decisions a second that one core could serve; 100,000 random keys")
	for i, p := range pipelines {
		top, longest := panelsTop+panel*float64(i), 0.0
		for _, b := range drawn {
			longest = max(longest, micros(b, p))
		}
		words := fmt.Sprintf("%d requests at a time on each of %d connections", p, connections)
		if p == 1 {
			words = fmt.Sprintf("one request at a time on each of %d connections", connections)
		}
		text(12, top+10, "name", words)
		for j, b := range drawn {
			y, figure := top+20+barRow*float64(j), micros(b, p)
			text(12, y+13, "row", b.name)
			fmt.Fprintf(&out, `<rect class="%s" x="%g" y="%g" width="%.1f" height="%g"/>`+"\n", b.class, barsLeft, y, longestBar*figure/longest, barRow-5)
			text(barsLeft+longestBar*figure/longest+8, y+13, "figure", fmt.Sprintf("%.3g µs, %s/s", figure, twoDigits(1e6/figure)))
		}
	}
	return out.String() + "</svg>\n"
}

// twoDigits writes a number to two digits, such as 120,000 or 2.3 million.
func twoDigits(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.2g million", n/1e6)
	case n >= 1e5:
		return fmt.Sprintf("%.0f0,000", n/1e4)
	}
	return fmt.Sprintf("%.0f,000", n/1e3)
}

package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// The picture, in pixels: a row for each kind of outcome, a panel for each traffic.
const (
	panelWidth, panelHeight = 330.0, 74.0
	panelGap, marginLeft    = 58.0, 48.0
	headHeight, rowHeight   = 88.0, 142.0
	chartWidth              = marginLeft + 2*panelWidth + panelGap + 26
)

// It brings its own light ground, so that it can be read on a page of any colour.
const chartStyle = `<style>
text { font: 13px system-ui, "Helvetica Neue", Arial, sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.name { font-weight: 600 }
.small { font-size: 11px; fill: #59636e }
.asked { fill: #d1d9e0 }
.through { fill: none; stroke: #0969da; stroke-width: 2.5; stroke-linejoin: round }
.axis { stroke: #818b98; fill: none }
</style>
`

// chartRow is the contenders that come to the same.
type chartRow struct {
	names    []string
	outcomes [2]outcome
}

var chartTraffics = [2]struct {
	traffic
	end float64 // of the time shown, seconds
}{{burst, 2}, {sustained, 4}}

func chartRows() (rows []chartRow) {
	for _, c := range contenders {
		row := chartRow{names: []string{c.name}}
		for i, t := range chartTraffics {
			row.outcomes[i] = run(c, t.traffic)
		}
		same := slices.IndexFunc(rows, func(r chartRow) bool {
			return c.hold == 0 && slices.Equal(r.outcomes[0].through, row.outcomes[0].through) &&
				slices.Equal(r.outcomes[1].through, row.outcomes[1].through)
		})
		if same >= 0 {
			rows[same].names = append(rows[same].names, c.name)
			continue
		}
		rows = append(rows, row)
	}
	return rows
}

// chart draws how many requests had arrived, and how many had been let through, at each time.
func chart() []byte {
	rows := chartRows()
	height := headHeight + rowHeight*float64(len(rows)) + 8
	var out bytes.Buffer
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %[1]g %[2]g" role="img">`+"\n", chartWidth, height)
	out.WriteString("<title>The same requests through every algorithm</title>\n" + chartStyle)
	fmt.Fprintf(&out, `<rect width="%g" height="%g" rx="8" fill="#ffffff"/>`+"\n", chartWidth, height)
	for i, t := range chartTraffics {
		text(&out, left(i), 30, "title", t.name)
	}
	fmt.Fprintf(&out, `<rect class="asked" x="%g" y="46" width="22" height="12"/>`+"\n", left(0))
	text(&out, left(0)+30, 57, "small", "asked so far")
	fmt.Fprintf(&out, `<path class="through" d="M%g 52h22"/>`+"\n", left(0)+130)
	text(&out, left(0)+160, 57, "small", "let through so far")
	for i, r := range rows {
		top := headHeight + rowHeight*float64(i)
		text(&out, left(0), top+6, "name", strings.Join(r.names, " · "))
		for j, o := range r.outcomes {
			text(&out, left(j), top+24, "small", summary(o))
			panel(&out, left(j), top+34, j, o)
		}
	}
	out.WriteString("</svg>\n")
	return out.Bytes()
}

func left(column int) float64 { return marginLeft + float64(column)*(panelWidth+panelGap) }

func text(out *bytes.Buffer, x, y float64, class, words string) {
	fmt.Fprintf(out, `<text class="%s" x="%g" y="%g">%s</text>`+"\n", class, x, y, words)
}

func panel(out *bytes.Buffer, x, y float64, column int, o outcome) {
	t := chartTraffics[column]
	all := float64(len(t.arrivals))
	at := func(nanos int64, count int) string {
		return fmt.Sprintf("%.1f %.1f", x+panelWidth*float64(nanos)/float64(second)/t.end, y+float64(panelHeight*(1-float64(count)/all)))
	}
	end := int64(t.end * float64(second))
	fmt.Fprintf(out, `<path class="asked" d="M%sL%sL%sL%sL%sZ"/>`+"\n", at(0, 0), at(t.arrivals[len(t.arrivals)-1], len(t.arrivals)), at(end, len(t.arrivals)), at(end, 0), at(0, 0))
	line, last := "M"+at(0, 0), ""
	for i, when := range o.through {
		if p := at(when, i+1); p[:strings.IndexByte(p, ' ')] != last || i == len(o.through)-1 { // one point a tenth of a pixel
			if last != "" && i > 0 && when-o.through[i-1] > second/20 {
				line += "L" + at(when, i)
			}
			line += "L" + p
			last = p[:strings.IndexByte(p, ' ')]
		}
	}
	line += "L" + at(end, len(o.through))
	fmt.Fprintf(out, `<path class="through" d="%s"/>`+"\n", line)
	fmt.Fprintf(out, `<path class="axis" d="M%g %gv%gh%g"/>`+"\n", x, y, panelHeight, panelWidth)
	for s := 0.0; s <= t.end; s++ {
		fmt.Fprintf(out, `<text class="small" text-anchor="middle" x="%g" y="%g">%g s</text>`+"\n", x+panelWidth*s/t.end, y+panelHeight+15, s)
	}
	fmt.Fprintf(out, `<text class="small" text-anchor="end" x="%g" y="%g">%d</text>`+"\n", x-6, y+8, len(t.arrivals))
}

func summary(o outcome) string {
	words := fmt.Sprintf("%d accepted", o.accepted)
	if o.rejected > 0 {
		words += fmt.Sprintf(", %d rejected", o.rejected)
	}
	if o.delayed > 0 {
		words += fmt.Sprintf(", %d delayed up to %s", o.delayed, delay(o.longest))
	}
	return words
}

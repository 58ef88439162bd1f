package docs

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

//go:generate go test -run TestFigures -update

// TestFigures compares the drawings of the handbook, which show how the parts of a cluster work together, with the code
// below that draws them. With -update it writes them.
func TestFigures(t *testing.T) {
	for name, picture := range map[string]string{"cluster.svg": requestThroughNodes(), "decided.svg": whereDecided()} {
		if *update {
			if err := os.WriteFile(name, []byte(picture), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if text, err := os.ReadFile(name); err != nil || string(text) != picture {
			t.Errorf("%s is not what the code draws: run go generate ./docs (%v)", name, err)
		}
	}
}

// figureStyle has the colours of a light page, and of a dark one.
const figureStyle = `<style>
text { font: 13px system-ui, "Helvetica Neue", Arial, sans-serif; fill: #1f2328 }
.title { font-size: 16px; font-weight: 600 }
.name { font-weight: 600 }
.small { font-size: 12px; fill: #59636e }
.number { font-weight: 600; fill: #ffffff; text-anchor: middle }
.ground { fill: #ffffff }
.box { fill: #f6f8fa; stroke: #818b98 }
.leader { fill: #ddf4ff; stroke: #0969da; stroke-width: 2 }
.disk { fill: #d1d9e0; stroke: #818b98 }
.dot { fill: #0969da }
.arrow { stroke: #59636e; stroke-width: 1.5; fill: none; marker-end: url(#head) }
.head { fill: #59636e }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc }
.small { fill: #9198a1 }
.number { fill: #0d1117 }
.ground { fill: #0d1117 }
.box { fill: #151b23; stroke: #656c76 }
.leader { fill: #121d2f; stroke: #58a6ff }
.disk { fill: #3d444d; stroke: #656c76 }
.dot { fill: #58a6ff }
.arrow { stroke: #9198a1 }
.head { fill: #9198a1 }
}
</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path class="head" d="M0 0 8 4 0 8z"/></marker></defs>
`

// A figure is a drawing under way, in pixels from its upper left corner.
type figure struct{ strings.Builder }

// newFigure begins a drawing with its title, which is also what a screen reader says.
func newFigure(width, height int, title string) *figure {
	f := &figure{}
	f.add(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img">`, width, height)
	f.add("<title>%s</title>", title)
	f.WriteString(figureStyle)
	f.add(`<rect class="ground" width="%d" height="%d" rx="8"/>`, width, height)
	f.text(16, 28, "title", title)
	return f
}

func (f *figure) add(format string, values ...any) { fmt.Fprintf(f, format+"\n", values...) }

func (f *figure) text(x, y int, class, words string) {
	f.add(`<text class="%s" x="%d" y="%d">%s</text>`, class, x, y, words)
}

func (f *figure) box(x, y, width, height int, class string) {
	f.add(`<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="6"/>`, class, x, y, width, height)
}

// arrow draws an arrow, with a number beside its middle unless that is 0.
func (f *figure) arrow(x1, y1, x2, y2, number int) {
	f.add(`<path class="arrow" d="M%d %dL%d %d"/>`, x1, y1, x2, y2)
	if number > 0 {
		f.dot((x1+x2)/2, (y1+y2)/2, number)
	}
}

func (f *figure) dot(x, y, number int) {
	f.add(`<circle class="dot" cx="%d" cy="%d" r="9"/>`, x, y)
	f.text(x, y+5, "number", fmt.Sprint(number))
}

func (f *figure) end() string { return f.String() + "</svg>\n" }

// requestThroughNodes draws the way of a request that is granted by an entry of the log.
func requestThroughNodes() string {
	f := newFigure(720, 400, "A request through three nodes")
	f.box(40, 52, 160, 44, "box")
	f.text(60, 79, "name", "client")
	f.arrow(90, 96, 90, 168, 1)
	f.arrow(150, 168, 150, 96, 5)
	for i, name := range []string{"node b", "node a, the leader", "node c"} {
		x, class := 40+240*i, "box"
		if i == 1 {
			class = "leader"
		}
		f.box(x, 168, 160, 112, class)
		f.text(x+16, 192, "name", name)
		f.box(x+16, 244, 128, 24, "disk")
		f.text(x+28, 261, "text", "log on its disk")
		f.arrow(x+80, 222, x+80, 243, 0)
	}
	f.text(296, 216, "small", "decides")
	f.arrow(200, 186, 279, 186, 2)
	f.arrow(280, 220, 201, 220, 3)
	f.arrow(440, 220, 519, 220, 3)
	f.arrow(200, 256, 279, 256, 4)
	f.arrow(520, 256, 441, 256, 4)
	for i, step := range []string{
		"The client sends a request to any node.",
		"The node forwards it to the leader. A denial changes nothing, so it is sent back at once.",
		"The leader decides, and sends the grant to all nodes as an entry of their log.",
		"Each node confirms the entry when it is on its disk. Two of three are enough: no single failure loses it.",
		"Only now does the client get its reply.",
	} {
		f.dot(32, 302+20*i, i+1)
		f.text(50, 307+20*i, "text", step)
	}
	return f.end()
}

// whereDecided draws the places where a request may be decided, from the nearest to the last.
func whereDecided() string {
	f := newFigure(800, 392, "Where a decision is made")
	f.text(16, 50, "small", "A request goes down until somebody can decide it. Each step costs the caller what stands at its right.")
	for i, place := range [][]string{
		{"your process", "grants from a lease", "nothing"},
		{"a sidecar beside it", "grants from tokens lent to it, repeats denials", "a round trip over a unix socket"},
		{"your region", "grants from tokens lent to it, repeats denials", "a round trip in the region"},
		{"the node you ask", "grants keys in demand from tokens that it set aside", "a round trip to the cluster"},
		{"its leader's memory", "denies, reads, and grants from its allowance", "a message between nodes"},
		{"the cluster's log", "grants everything else, entry by entry", "the disks of a majority"},
	} {
		y, class := 66+54*i, "box"
		if i == 5 {
			class = "leader"
		}
		f.box(16, y, 768, 36, class)
		f.text(32, y+23, "name", place[0])
		f.text(196, y+23, "text", place[1])
		f.text(560, y+23, "small", place[2])
		if i > 0 {
			f.arrow(88, y-18, 88, y-2, 0)
		}
	}
	return f.end()
}

package main

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// The picture: a panel per pipeline, a bar per series. Each panel has its own
// scale from zero, because P=64 is some twenty times P=1.
const (
	panelWidth   = 11 * vg.Centimeter
	barSpace     = 0.75 * vg.Centimeter // a bar and the gap to the next
	barWidth     = 0.5 * vg.Centimeter
	panelMargins = 1.5 * vg.Centimeter // the panel's title, and the padding above and below
	captionSpace = 2.6 * vg.Centimeter
	labelRoom    = 1.45 // the axis is longer than the longest bar: room for its figure
)

// barColor gives Stint's limiter commands the strong colour, and PING, the baseline without a decision, a pale one.
func barColor(s Series) color.Color {
	switch {
	case !s.Command.Keyed():
		return color.RGBA{R: 0xc4, G: 0xc9, B: 0xd0, A: 0xff}
	case s.Server.Name == "stint":
		return color.RGBA{R: 0x0b, G: 0x7a, B: 0x75, A: 0xff}
	}
	return color.RGBA{R: 0xe0, G: 0x8e, B: 0x45, A: 0xff}
}

// writeSVG draws the throughput of the first workload.
func writeSVG(w io.Writer, r *Report) error {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	height := captionSpace + panelMargins + barSpace*vg.Length(len(r.Series))
	canvas := vgsvg.New(panelWidth*vg.Length(len(pipelines)), height)
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())

	drawCaption(page, r)
	below := draw.Crop(page, 0, 0, 0, -captionSpace)
	tiles := draw.Tiles{
		Rows: 1, Cols: len(pipelines),
		PadX: 0.4 * vg.Centimeter, PadLeft: 0.4 * vg.Centimeter, PadRight: 0.4 * vg.Centimeter, PadBottom: 0.3 * vg.Centimeter,
	}
	for i, p := range pipelines {
		panel, err := panelFor(r, p)
		if err != nil {
			return err
		}
		panel.Draw(tiles.At(below, i, 0))
	}

	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	// Where the Liberation fonts are missing, fonts of the same widths do.
	_, err := io.WriteString(w, strings.ReplaceAll(svg.String(),
		"font-family:Liberation Sans;", "font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
	return err
}

func drawCaption(page draw.Canvas, r *Report) {
	style := func(size vg.Length, grey uint8) text.Style {
		return text.Style{
			Color: color.Gray{Y: grey}, Font: font.From(plot.DefaultFont, size),
			Handler: plot.DefaultTextHandler, YAlign: text.YTop,
		}
	}
	at := vg.Point{X: page.Min.X + 0.4*vg.Centimeter, Y: page.Max.Y - 0.3*vg.Centimeter}
	page.FillText(style(15, 0x20), at, "Requests per second, higher is better ("+workloads[0].Title+")")
	for i, line := range preamble(r) {
		page.FillText(style(9, 0x60), vg.Point{X: at.X, Y: at.Y - 0.75*vg.Centimeter - 0.45*vg.Centimeter*vg.Length(i)}, line)
	}
}

// panelFor draws one pipeline: the first series on top.
func panelFor(r *Report, pipeline int) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("pipeline %d", pipeline)
	p.Title.TextStyle.Font = font.From(plot.DefaultFont, 12)
	p.HideX()

	names := make([]string, len(r.Series))
	longest := 0.0
	for i, s := range r.Series {
		y := float64(len(r.Series) - 1 - i)
		value := r.Results.median(throughput, Cell{s.ID(), workloads[0].Name, pipeline})
		if math.IsNaN(value) {
			value = 0
		}
		longest = max(longest, value)
		names[len(r.Series)-1-i] = s.Title()
		if err := addBar(p, y, value, barColor(s)); err != nil {
			return nil, err
		}
	}
	p.NominalY(names...)
	p.X.Min, p.X.Max = 0, longest*labelRoom
	p.Y.Min, p.Y.Max = -0.5, float64(len(names))-0.5
	return p, nil
}

// addBar draws one bar with its figure at the end.
func addBar(p *plot.Plot, y, value float64, fill color.Color) error {
	bar, err := plotter.NewBarChart(plotter.Values{value}, barWidth)
	if err != nil {
		return err
	}
	bar.Horizontal, bar.XMin = true, y
	bar.Color, bar.LineStyle.Width = fill, 0
	figure, err := plotter.NewLabels(plotter.XYLabels{
		XYs: plotter.XYs{{X: value, Y: y}}, Labels: []string{formatCount(value)},
	})
	if err != nil {
		return err
	}
	figure.TextStyle[0].Font = font.From(plot.DefaultFont, 10)
	figure.TextStyle[0].YAlign = text.YCenter
	figure.Offset = vg.Point{X: 0.15 * vg.Centimeter}
	p.Add(bar, figure)
	return nil
}

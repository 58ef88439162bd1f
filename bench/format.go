package main

import (
	"math"
	"strconv"
	"strings"
)

// noFigure is shown for values that were not measured.
const noFigure = "–"

// formatCount writes 1234567 as 1,234,567.
func formatCount(v float64) string {
	if math.IsNaN(v) {
		return noFigure
	}
	digits := strconv.FormatFloat(math.Abs(v), 'f', 0, 64)
	var groups []string
	for len(digits) > 3 {
		groups = append([]string{digits[len(digits)-3:]}, groups...)
		digits = digits[:len(digits)-3]
	}
	out := strings.Join(append([]string{digits}, groups...), ",")
	if v < 0 {
		return "-" + out
	}
	return out
}

// formatFigure keeps about three digits: 123, 12.3, 1.23, 0.123.
func formatFigure(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v):
		return noFigure
	case size >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case size >= 1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	default:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
}

// formatTiny has five digits after the point.
func formatTiny(v float64) string { return strconv.FormatFloat(v, 'f', 5, 64) }

// formatPercent writes a part of 1 in hundredths.
func formatPercent(v float64) string {
	if math.IsNaN(v) {
		return noFigure
	}
	return strconv.FormatFloat(100*v, 'f', 1, 64)
}

// formatUnit is formatFigure with a unit after it.
func formatUnit(v float64, unit string) string {
	if math.IsNaN(v) {
		return noFigure
	}
	return strings.TrimSuffix(formatFigure(v)+" "+unit, " ")
}

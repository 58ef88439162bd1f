package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Target is a figure and its bound. Costs are compared by CPU time, because the throughput of a cheap command is
// redis-benchmark's.
type Target struct {
	Name   string
	Unit   string // of the value: "x" for a ratio
	AtMost bool   // else at least
	Bound  float64
	Figure Key
	Versus Key                     // if not zero, the figure is compared with this one
	Scale  float64                 // a factor of the value, if not zero
	of     func([]float64) float64 // as in column
	Why    string                  // the cause, if the goal is missed
}

// because states the cause of a goal that is missed.
func (t Target) because(cause string) Target {
	t.Why = cause
	return t
}

// An Outcome is a target with its value.
type Outcome struct {
	Target
	Value float64 // NaN: not measured in this run
}

func (t Target) measured(f Figures) Outcome {
	value := f.of(t.Figure, t.of)
	if t.Versus != (Key{}) {
		value = f.ratio(t.Figure, t.Versus)
	}
	if t.Scale != 0 {
		value *= t.Scale
	}
	return Outcome{t, value}
}

// IsMissed reports whether the value is on the wrong side of the bound.
func (o Outcome) IsMissed() bool {
	return o.AtMost && o.Value > o.Bound || !o.AtMost && o.Value < o.Bound
}

// Verdict says whether a goal is met, or by how much it is missed and why.
func (o Outcome) Verdict() string {
	switch {
	case math.IsNaN(o.Value):
		return "not measured"
	case math.IsNaN(o.Bound):
		return "not judged"
	case !o.IsMissed():
		return met
	case o.Why == "":
		return o.missedBy() + "; the cause is not known"
	}
	return o.missedBy() + ": " + o.Why
}

const met = "met"

func (o Outcome) missedBy() string {
	direction := "below"
	if o.AtMost {
		direction = "above"
	}
	return fmt.Sprintf("%.0f %% %s", max(1, math.Round(100*math.Abs(o.Value/o.Bound-1))), direction)
}

// targetTable shows the targets that this run measured.
func (r *Report) targetTable(title string, outcomes []Outcome, inDocs func(row []string) bool) Table {
	t := Table{Title: title, Words: 1, WordsLast: true, Header: []string{"what", "measured", "goal", "result"}, InDocs: inDocs}
	for _, o := range outcomes {
		if math.IsNaN(o.Value) || math.IsNaN(o.Bound) {
			continue
		}
		sign := "≥ "
		if o.AtMost {
			sign = "≤ "
		}
		verdict := o.Verdict()
		if r.OtherWork.IsTooMuch() {
			verdict = "busy"
		}
		t.Rows = append(t.Rows, []string{o.Name, formatUnit(o.Value, o.Unit), strings.TrimSuffix(sign+strconv.FormatFloat(o.Bound, 'f', -1, 64)+" "+o.Unit, " "), verdict})
	}
	return t
}

// compared is a target for a ratio of two series under the same load.
func compared(name, metric string, c Cell, a, b string, bound float64, atMost bool) Target {
	return Target{Name: fmt.Sprintf("%s, P=%d", name, c.pipeline), Unit: "x", Bound: bound, AtMost: atMost,
		Figure: Key{a, c.ID(), metric}, Versus: Key{b, c.ID(), metric}}
}

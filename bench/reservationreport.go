package main

import (
	"fmt"
	"slices"
)

// reservationSections are the tables for reservations.
func reservationSections(r *ReservationReport, settings Settings) []Section {
	s := Section{
		Title:  fmt.Sprintf("Reservations: server CPU, P=%d", reservationPipeline),
		Words:  1,
		Header: []string{"command", "µs per request", "vs " + acquireKnown},
		Note: fmt.Sprintf("Sent by the program itself over %d connections, in turns. A reservation is remembered for a minute; each is a new key.",
			connections),
	}
	for _, load := range reservationLoads {
		s.Rows = append(s.Rows, []string{load.name, formatFigure(median(r.CPU[load.name])), formatUnit(r.ratio(acquireKnown, load.name), "x")})
	}
	return []Section{s, {
		Title:  "Reservations: bytes of one with three limits, 16-byte keys",
		Words:  1,
		Header: []string{"what", "bytes"},
		Rows: [][]string{
			{"MEMORY USAGE, two buckets and a lease", formatCount(float64(r.Record))},
			{fmt.Sprintf("growth of VmRSS for each of %s, three buckets", formatCount(float64(settings.Keys))), formatFigure(r.Resident)},
		},
	}}
}

// ratio is the median over the rounds of the sum of some loads' costs, in units of another's.
func (r *ReservationReport) ratio(unit string, names ...string) float64 {
	quotients := slices.Clone(r.CPU[unit])
	for i, cost := range quotients {
		sum := 0.0
		for _, name := range names {
			sum += r.CPU[name][i]
		}
		quotients[i] = sum / cost
	}
	return median(quotients)
}

// reservationTargets is the table of targets for reservations.
func reservationTargets() []Target {
	compare := func(name, unit string, bound float64, names ...string) Target {
		return Target{Name: fmt.Sprintf("CPU of %s, P=%d", name, reservationPipeline), Unit: "x", Bound: bound, AtMost: true,
			measure: func(r *Report) float64 { return r.Reservations.ratio(unit, names...) }}
	}
	return []Target{
		compare("a reservation and its settlement vs TB.ACQUIRE", acquireKnown, 2.5, reserveOne, settleOne),
		compare("the same by a policy", acquireKnown, 2.5, reservePolicy, settlePolicy),
		{Name: "a reservation with three limits, MEMORY USAGE", Unit: "B", Bound: 160, AtMost: true,
			measure: func(r *Report) float64 { return float64(r.Reservations.Record) }},
	}
}

package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

// reservationPipeline is the pipeline of the target.
const reservationPipeline = 16

// The names of the loads, which are the rows of the table.
const (
	acquireKnown  = "TB.ACQUIRE, 100k keys"
	acquireNew    = "TB.ACQUIRE, each on a new key"
	reserveOne    = "RL.ALL … AS id, one limit of 100k keys"
	settleOne     = "RL.SETTLE of these"
	reservePolicy = "RL.CHECK … AS id, a policy of one limit"
	settlePolicy  = "RL.SETTLE of these, too"
)

// A reservationLoad is a command, numbered. A settlement follows its reservation and has the same numbers.
type reservationLoad struct {
	name    string
	command func(i int) []string
}

// Every request is granted. New keys live for a minute, as long as the reservations, so that both make the server's
// tables grow.
var reservationLoads = []reservationLoad{
	{acquireKnown, func(i int) []string {
		return []string{"TB.ACQUIRE", fmt.Sprintf("key:%012d", spread(i)), "1000001", "30/60s"}
	}},
	{acquireNew, func(i int) []string { return []string{"TB.ACQUIRE", fmt.Sprintf("new:%012d", i), "1000001", "1/60s"} }},
	{reserveOne, func(i int) []string {
		return []string{"RL.ALL", "TB", fmt.Sprintf("key:%012d", spread(i)), "1000001", "30/60s", "AS", fmt.Sprintf("rsv:%012d", i), "FOR", "60s"}
	}},
	{settleOne, func(i int) []string { return []string{"RL.SETTLE", fmt.Sprintf("rsv:%012d", i), "1"} }},
	{reservePolicy, func(i int) []string {
		return []string{"RL.CHECK", "one", fmt.Sprintf("%012d", spread(i)), "AS", fmt.Sprintf("rpl:%012d", i), "FOR", "60s"}
	}},
	{settlePolicy, func(i int) []string { return []string{"RL.SETTLE", fmt.Sprintf("rpl:%012d", i), "1"} }},
}

// spread is one of the known keys, in an order that no cache foresees.
func spread(i int) int { return i * 7919 % randomKeys }

// A reservation with three limits, in the other table; both has the cost of a reservation and its settlement.
const (
	record      = "a reservation with three limits"
	memoryUsage = "bytes as MEMORY USAGE reports"

	both         = "a reservation and its settlement"
	bothByPolicy = "the same by a policy"
)

// measureReservations sends the loads in turns to a separate server. The numbers of requests of all are the same.
func measureReservations(ctx context.Context, e Env, f Figures) error {
	inst, err := startStint(e.binary)(ctx, "stint-reservations", nil)
	if err != nil {
		return err
	}
	defer inst.Stop()
	if _, err := ask(inst.Addr, "RL.POLICY", "SET", "one", "TB", "key:{}", "1000001", "30/60s"); err != nil {
		return err
	}
	first, requests := 0, randomKeys // as many as keys, so that all of them are known after the first round, which does not count
	err = e.rounds(0, fmt.Sprintf("reservations, pipeline %d", reservationPipeline), func(round int) error {
		began := time.Now()
		micros := map[string]float64{}
		for _, load := range reservationLoads {
			if micros[load.name], err = driveReservations(ctx, inst, load, first, requests); err != nil {
				return diagnose(inst, err)
			}
		}
		first += requests
		if round == 0 {
			each := time.Since(began) / time.Duration(len(reservationLoads)*requests)
			requests = requestsFor(float64(time.Second)/float64(each), e.Cell, connections, reservationPipeline)
			return nil
		}
		f.addReservations(micros)
		return nil
	})
	if err != nil {
		return err
	}
	return weighReservations(ctx, e, f)
}

// addReservations adds the costs of a round, by reservationLoad.name.
func (f Figures) addReservations(micros map[string]float64) {
	micros[both] = micros[reserveOne] + micros[settleOne]
	micros[bothByPolicy] = micros[reservePolicy] + micros[settlePolicy]
	for name, cost := range micros {
		f.add(name, "", cpu, cost)
	}
}

// driveReservations returns the server's CPU time for a request of a load, in microseconds.
func driveReservations(ctx context.Context, inst *Instance, load reservationLoad, first, n int) (micros float64, err error) {
	before, err := cpuTime(inst.PIDs())
	if err != nil {
		return 0, err
	}
	l := loader{inst.Addr, connections, reservationPipeline, load.command, false}
	if err := l.send(ctx, first, n); err != nil {
		return 0, err
	}
	after, err := cpuTime(inst.PIDs())
	return float64((after - before).Microseconds()) / float64(n), err
}

// threeBuckets reserves from three limits.
func threeBuckets(i int) []string {
	return []string{"RL.ALL", "TB", "rpm:000000000001", "1000000000", "60/60s", "TB", "tpm:000000000001", "1000000000", "60000/60s",
		"TB", "day:000000000001", "1000000000", "1000000/1d", "AS", fmt.Sprintf("rsv:%012d", i), "FOR", "600s"}
}

// callOfModel reserves what a call of a language model needs: a request, tokens and a lease.
var callOfModel = []string{"RL.ALL", "TB", "rpm:000000000001", "60", "60/60s", "TB", "tpm:000000000001", "60000", "60000/60s", "COST", "1000",
	"CC", "run:000000000001", "5", "600s", "call:00000000001", "AS", "call:00000000001", "FOR", "600s"}

// weighReservations measures the memory of reservations in a fresh process.
func weighReservations(ctx context.Context, e Env, f Figures) error {
	fmt.Fprintf(os.Stderr, "memory of %d reservations\n", e.Keys)
	inst, err := startStint(e.binary)(ctx, "stint-reservations-memory", nil)
	if err != nil {
		return err
	}
	defer inst.Stop()
	if granted, err := ask(inst.Addr, callOfModel...); err != nil || len(granted.integers) == 0 || granted.integers[0] != 1 {
		return fmt.Errorf("%v is answered %+v, %v", callOfModel, granted, err)
	}
	usage, err := askInteger(inst.Addr, "MEMORY", "USAGE", callOfModel[len(callOfModel)-3])
	if err != nil {
		return err
	}
	f.add(record, "", memoryUsage, float64(usage))
	l := loader{inst.Addr, loadConnections, loadBatch, threeBuckets, false}
	bytes, err := growth(inst, e.Keys, func(from, n int) error { return l.send(ctx, from, n) })
	f.add(record, "", bytesEach, bytes)
	return err
}

func reservationTables(e Env, f Figures) []Table {
	var lines []line
	for _, load := range reservationLoads {
		lines = append(lines, line{[]string{load.name}, load.name, ""})
	}
	return []Table{
		f.table(fmt.Sprintf("Reservations: server CPU, P=%d", reservationPipeline),
			fmt.Sprintf("Sent by the program itself over %d connections, in turns. A reservation is remembered for a minute; each is a new key.", connections),
			[]string{"command"}, lines,
			column{header: "µs per request", metrics: []string{cpu}, format: formatFigure}, versus(cpu, acquireKnown, acquireKnown)),
		{
			Title: "Reservations: bytes of one with three limits, 16-byte keys", Words: 1, Header: []string{"what", "bytes"},
			Rows: [][]string{
				{"MEMORY USAGE, two buckets and a lease", formatCount(median(f[Key{record, "", memoryUsage}]))},
				{fmt.Sprintf("growth of VmRSS for each of %s, three buckets", formatCount(float64(e.Keys))), formatFigure(median(f[Key{record, "", bytesEach}]))},
			},
		},
	}
}

// recordsOfReservations is the cause of goals that are missed.
const recordsOfReservations = "two commands, which also make and remove a record of the tokens taken"

func reservationTargets(Env) []Target {
	compare := func(name, series string) Target {
		return Target{Name: fmt.Sprintf("CPU of %s, P=%d", name, reservationPipeline), Unit: "x", Bound: 2.5, AtMost: true,
			Why:    recordsOfReservations,
			Figure: Key{series, "", cpu}, Versus: Key{acquireKnown, "", cpu}}
	}
	return []Target{compare(both+" vs TB.ACQUIRE", both), compare(bothByPolicy, bothByPolicy),
		{Name: "a reservation with three limits, MEMORY USAGE", Unit: "B", Bound: 160, AtMost: true, Figure: Key{record, "", memoryUsage}}}
}

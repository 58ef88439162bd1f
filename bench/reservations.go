package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// A ReservationReport has the cost of a reservation and its settlement beside that of one TB.ACQUIRE.
type ReservationReport struct {
	CPU      map[string][]float64 // µs of the server per request, a figure per round, by reservationLoad.name
	Record   int64                // bytes of one with three limits and 16-byte keys, as MEMORY USAGE reports
	Resident float64              // growth of VmRSS for each of many
}

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

// Every request is granted. New keys live for a minute, as long as the reservations, so that both make the server's tables
// grow.
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

// measureReservations sends the loads in turns to a separate server. The numbers of requests of all are the same.
func measureReservations(ctx context.Context, binary string, settings Settings) (*ReservationReport, error) {
	r := &ReservationReport{CPU: map[string][]float64{}}
	inst, err := startStint(binary)(ctx, "stint-reservations", nil)
	if err != nil {
		return nil, err
	}
	defer inst.Stop()
	if _, err := ask(inst.Addr, "RL.POLICY", "SET", "one", "TB", "key:{}", "1000001", "30/60s"); err != nil {
		return nil, err
	}
	first, requests := 0, randomKeys // as many as keys, so that all of them are known after the first round, which does not count
	for round := range settings.Rounds + 1 {
		fmt.Fprintf(os.Stderr, "round %d/%d: reservations, pipeline %d\n", round, settings.Rounds, reservationPipeline)
		began := time.Now()
		for _, load := range reservationLoads {
			micros, err := r.drive(ctx, inst, load, first, requests)
			if err != nil {
				return nil, diagnose(inst, err)
			}
			if round > 0 {
				r.CPU[load.name] = append(r.CPU[load.name], micros)
			}
		}
		first += requests
		if round == 0 {
			each := time.Since(began) / time.Duration(len(reservationLoads)*requests)
			requests = requestsFor(float64(time.Second)/float64(each), settings.Cell, connections, reservationPipeline)
		}
	}
	return r, r.weigh(ctx, binary, settings.Keys)
}

// drive returns the server's CPU time for a request of a load, in microseconds.
func (r *ReservationReport) drive(ctx context.Context, inst *Instance, load reservationLoad, first, n int) (micros float64, err error) {
	before, err := cpuTime(inst.PIDs())
	if err != nil {
		return 0, err
	}
	l := loader{inst.Addr, connections, reservationPipeline, load.command, grantsOne}
	if err := l.send(ctx, first, n); err != nil {
		return 0, err
	}
	after, err := cpuTime(inst.PIDs())
	return float64((after - before).Microseconds()) / float64(n), err
}

// grantsOne checks that a request was granted, or its limit charged, one token: that is the first integer of each reply.
func grantsOne(r reply) error {
	if len(r.integers) == 0 || r.integers[0] != 1 {
		return fmt.Errorf("answered %v: the first integer should be 1", r.integers)
	}
	return nil
}

// threeBuckets reserves from three limits.
func threeBuckets(i int) []string {
	return []string{"RL.ALL", "TB", "rpm:000000000001", "1000000000", "60/60s", "TB", "tpm:000000000001", "1000000000", "60000/60s",
		"TB", "day:000000000001", "1000000000", "1000000/1d", "AS", fmt.Sprintf("rsv:%012d", i), "FOR", "600s"}
}

// callOfModel reserves what a call of a language model needs: a request, tokens and a lease.
var callOfModel = []string{"RL.ALL", "TB", "rpm:000000000001", "60", "60/60s", "TB", "tpm:000000000001", "60000", "60000/60s", "COST", "1000",
	"CC", "run:000000000001", "5", "600s", "call:00000000001", "AS", "call:00000000001", "FOR", "600s"}

// weigh measures the memory of reservations in a fresh process.
func (r *ReservationReport) weigh(ctx context.Context, binary string, n int) error {
	fmt.Fprintf(os.Stderr, "memory of %d reservations\n", n)
	inst, err := startStint(binary)(ctx, "stint-reservations-memory", nil)
	if err != nil {
		return err
	}
	defer inst.Stop()
	if granted, err := ask(inst.Addr, callOfModel...); err != nil || grantsOne(granted) != nil {
		return errors.Join(err, grantsOne(granted))
	}
	usage, err := ask(inst.Addr, "MEMORY", "USAGE", callOfModel[len(callOfModel)-3])
	if err != nil {
		return err
	}
	if len(usage.integers) != 1 {
		return fmt.Errorf("MEMORY USAGE answered %+v", usage)
	}
	r.Record = usage.integers[0]
	l := loader{inst.Addr, loadConnections, loadBatch, threeBuckets, grantsOne}
	fill := func(first, n int) (int64, error) {
		if err := l.send(ctx, first, n); err != nil {
			return 0, diagnose(inst, err)
		}
		time.Sleep(settleFor)
		return residentBytes(inst.PIDs())
	}
	before, err := fill(0, warmUpKeys)
	if err != nil {
		return err
	}
	after, err := fill(warmUpKeys, n)
	r.Resident = float64(after-before) / float64(n)
	return err
}

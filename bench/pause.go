package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"slices"
	"time"
)

// A pauseSample has the p99 latency of decisions at a steady rate, in milliseconds.
type pauseSample struct {
	Quiet  float64 // no snapshot is written
	Saving float64 // while a snapshot was written
}

// The interval between requests, and the least number of them.
const (
	steadyEvery    = 250 * time.Microsecond
	steadyRequests = 8000
)

// measurePause asks at a steady rate over one connection, first undisturbed and then while snapshots are written.
func (d *DiskReport) measurePause(ctx context.Context, inst *Instance) error {
	c, err := dialSteady(inst.Addr)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.ask(ctx, steadyRequests/8, nil); err != nil { // warm up
		return err
	}
	var quiet, saving []float64
	if err := c.ask(ctx, steadyRequests, &quiet); err != nil {
		return err
	}
	for len(saving) < steadyRequests {
		saved := make(chan error, 1)
		go func() { saved <- save(inst.Addr) }()
		for over := false; !over; {
			if err := c.ask(ctx, 8, &saving); err != nil {
				return err
			}
			select {
			case err := <-saved:
				if over = true; err != nil {
					return fmt.Errorf("SAVE: %w", err)
				}
			default:
			}
		}
	}
	d.Pauses = append(d.Pauses, pauseSample{percentile99(quiet), percentile99(saving)})
	return nil
}

// steady is a connection that asks at a steady rate.
type steady struct {
	net.Conn
	replies *bufio.Reader
	next    time.Time
	request []byte
}

func dialSteady(addr string) (*steady, error) {
	conn, err := net.DialTimeout("tcp", addr, dialTimeout)
	if err != nil {
		return nil, err
	}
	request := appendCommand(nil, expand(throttleTemplate, "clt:steady", workloads[1].Limit)...)
	return &steady{conn, bufio.NewReader(conn), time.Now(), request}, nil
}

// ask sends n requests and appends how long each took, in milliseconds.
func (s *steady) ask(ctx context.Context, n int, took *[]float64) error {
	for range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		if wait := time.Until(s.next); wait > 0 {
			time.Sleep(wait)
		}
		sent := time.Now()
		s.next = sent.Add(steadyEvery)
		if err := s.SetDeadline(sent.Add(askTimeout)); err != nil {
			return err
		}
		if _, err := s.Write(s.request); err != nil {
			return err
		}
		reply, err := readReply(s.replies)
		if err == nil {
			err = answerThrottle.check(reply, true)
		}
		if err != nil {
			return err
		}
		if took != nil {
			*took = append(*took, time.Since(sent).Seconds()*1000)
		}
	}
	return nil
}

func percentile99(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)*99/100]
}

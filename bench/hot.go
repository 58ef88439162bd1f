package main

import (
	"context"
	"time"
)

// A hotSample is the cost of one hot key on disk under load.
type hotSample struct {
	PerSecond    float64 // of Stint
	JournalBytes float64 // per request, of Stint's journal
	AOFBytes     float64 // per request, of Redis's append-only file
}

// hotPipeline gives the highest rate.
const hotPipeline = 64

// measureHot drives one key on Stint in the mode interval and on Redis, and reads the bytes that each wrote. The calls
// are the same, so bytes per request can be compared although Redis executes fewer of them in the time.
func (d *DiskReport) measureHot(ctx context.Context, instances map[string]*Instance, cell time.Duration, round int) error {
	hot := workloads[1]
	written := func(server, template, field string, perSecond float64) (bytes float64, s Sample, err error) {
		inst := instances[server]
		args := expand(template, "clt:"+hot.KeySuffix(round, hotPipeline), hot.Limit)
		before, err := infoNumber(inst.Addr, "persistence", field)
		if err != nil {
			return 0, s, err
		}
		if s, err = drive(ctx, inst, connections, hotPipeline, requestsFor(perSecond, cell, connections, hotPipeline), args); err != nil {
			return 0, s, diagnose(inst, err)
		}
		time.Sleep(settleFor) // until the last bytes are written
		after, err := infoNumber(inst.Addr, "persistence", field)
		return (after - before) / float64(s.Requests), s, err
	}
	journal, s, err := written("stint-interval", throttleTemplate, "journal_written_bytes", 2_000_000)
	if err != nil {
		return err
	}
	aof, _, err := written("redis-everysec", "EVALSHA {sha} 1 {key} {burst} {count} {period}", "aof_current_size", 100_000)
	if err != nil {
		return err
	}
	d.Hot = append(d.Hot, hotSample{s.PerSecond, journal, aof})
	return nil
}

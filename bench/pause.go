package main

import (
	"context"
	"fmt"
	"time"
)

// measurePause asks at a steady rate over one connection, first undisturbed and then while one snapshot after the other
// is written, for as long as one takes at least.
func measurePause(ctx context.Context, inst *Instance, snapshot time.Duration, f Figures) error {
	load := pace{connections: 1, pipeline: 1, keys: 1, perSecond: 4000, duration: max(2*time.Second, snapshot)}
	send := respSenders(keyed(expand(throttleTemplate, "clt:steady", hotKey.Limit)...), true)
	ask := func() (p99 float64, err error) {
		s, err := load.grantedAt(ctx, inst, []string{inst.Addr}, send)
		return s.P99ms, err
	}
	quiet, err := ask()
	if err != nil {
		return err
	}
	over, saved := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-over:
				saved <- nil
				return
			default:
			}
			if err := save(inst.Addr); err != nil {
				saved <- fmt.Errorf("SAVE: %w", err)
				return
			}
		}
	}()
	saving, err := ask()
	close(over)
	if failed := <-saved; err == nil {
		err = failed
	}
	f.add(onDisk, "", quietP99, quiet)
	f.add(onDisk, "", savingP99, saving)
	f.add(onDisk, "", addedP99, saving-quiet)
	return err
}

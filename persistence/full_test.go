package persistence

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testdisk"
	"github.com/stintdb/stint/persistence/disk"
)

// In the mode always a full disk may still take grants: into room that was written ahead, and is the journal's. Each of
// them that was acknowledged is found after a power loss, however the file system finds out that it is full. When there
// is room again, all is kept again.
func TestFullDiskInAlways(t *testing.T) {
	large := limits.Limit{Algorithm: limits.TokenBucket, Capacity: 1_000_000, Rate: limits.Rate{Tokens: 1000, Period: int64(24 * time.Hour)}}
	for name, tc := range map[string]struct {
		full     testdisk.Fullness
		usesRoom bool
	}{
		"room is allocated by writes": {testdisk.NoGrowth, true},
		"copy on write":               {testdisk.NoWrites, false},
		"room is allocated by syncs":  {testdisk.NoGrownSync, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := run(t, Always)
				defer r.stop()
				acknowledge := func() error {
					op := engine.Op{Key: []byte("k"), Limit: large, Tokens: 1}
					r.store.Apply(time.Now().UnixNano(), []engine.Op{op}, make([]engine.Result, 1))
					r.count++
					return r.commit()
				}
				for range 3 {
					if err := acknowledge(); err != nil {
						t.Fatal(err)
					}
				}
				setFull(r, tc.full)
				acknowledged, err := r.count, error(nil)
				for range 2 * roomBytes / disk.BlockAlign {
					if err = acknowledge(); err != nil {
						break
					}
					acknowledged = r.count
				}
				if !isFull(err) {
					t.Fatalf("%d grants, and then %v", acknowledged, err)
				}
				if (acknowledged > 3) != tc.usesRoom {
					t.Errorf("%d grants were acknowledged", acknowledged)
				}
				for range 20 { // a power loss keeps more or less of what was not synced
					if n := found(t, r.disk.LosePower()); n < acknowledged || n > r.count {
						t.Fatalf("%d grants were acknowledged, %d are found", acknowledged, n)
					}
				}
				if err := acknowledge(); err == nil {
					t.Error("a grant was acknowledged after a failure")
				}
				setFull(r, testdisk.HasRoom)
				time.Sleep(10 * time.Second)
				if err := acknowledge(); err != nil {
					t.Errorf("with room again: %v", err)
				}
				if n := found(t, r.disk.LosePower()); n != r.count {
					t.Errorf("%d grants, %d are found", r.count, n)
				}
			})
		})
	}
}

func setFull(r *running, full testdisk.Fullness) {
	defer r.disk.Lock()()
	r.disk.Full = full
}

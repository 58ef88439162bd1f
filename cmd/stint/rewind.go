package main

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/persistence"
)

// fitTime compares the time of a recovered state with the machine's clock. A state that is a little ahead is followed.
// One that is further ahead is an error, or rewound if that is asked for.
func fitTime(path string, keys *store.Store, found *persistence.Recovered, clock time.Time, rewind bool, log *slog.Logger) (rewound bool, err error) {
	ahead := time.Duration(found.Time - clock.UnixNano())
	switch {
	case ahead > persistence.MaxAhead && !rewind:
		return false, fmt.Errorf("the state in %s is of %s, which is %s ahead of this machine's clock, %s. If that clock is wrong, set it and start again. If it is right, it was ahead when the state was written: start once with --rewind, which keeps the state and sets all its times back",
			path, inUTC(time.Unix(0, found.Time)), ahead.Round(time.Second), inUTC(clock))
	case ahead > persistence.MaxAhead:
		keys.Rewind(found.Time, clock.UnixNano())
		log.Warn("all times in the state were set back; start without --rewind from now on", "from", inUTC(time.Unix(0, found.Time)), "to", inUTC(clock))
		found.Time = clock.UnixNano()
		return true, nil
	case ahead > 0:
		log.Warn("the machine's clock is behind the time of the stored state; the server's time continues from the stored time, so that limits keep the tokens that were taken", "behind", ahead)
	}
	if rewind {
		log.Warn("the state was not rewound, because its time is not ahead; start without --rewind")
	}
	return false, nil
}

func inUTC(t time.Time) string { return t.UTC().Format(time.RFC3339) }

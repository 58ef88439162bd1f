package config

import (
	"fmt"
	"strconv"
	"time"

	"github.com/stintdb/stint/engine/limits"
)

// duration is a duration as in commands, of at least limits.MinDuration.
type duration struct {
	field *time.Duration
	max   time.Duration
	zero  string // what 0 means; "" if 0 is not allowed
}

func (v *duration) Type() string { return "duration" }

func (v *duration) String() string {
	if *v.field == 0 {
		return "0"
	}
	return limits.FormatDuration(int64(*v.field))
}

// plain rounds up, so that a short timeout is not shown as 0.
func (v *duration) plain() string {
	return strconv.FormatInt(int64((*v.field+time.Second-1)/time.Second), 10)
}

func (v *duration) Allowed() string {
	text := fmt.Sprintf("a duration between %s and %s, such as 250ms, 10s or 1.5m (a bare number is seconds)",
		limits.FormatDuration(limits.MinDuration), limits.FormatDuration(int64(v.max)))
	if v.zero != "" {
		text += ", or 0 for " + v.zero
	}
	return text
}

func (v *duration) Set(text string) error {
	if v.zero != "" && (text == "0" || text == "0s") {
		*v.field = 0
		return nil
	}
	nanos, err := limits.ParseDuration(text)
	if err != nil || nanos > int64(v.max) {
		return must(v.Allowed())
	}
	*v.field = time.Duration(nanos)
	return nil
}

package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

func median[T any, V cmp.Ordered](all []T, value func(T) V) V {
	values := make([]V, len(all))
	for i, a := range all {
		values[i] = value(a)
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// quantile is of sorted samples.
func quantile(samples []time.Duration, q float64) time.Duration {
	if len(samples) == 0 {
		return 0
	}
	return samples[min(len(samples)-1, int(q*float64(len(samples))))]
}

// short rounds to about three digits.
func short(d time.Duration) time.Duration {
	for unit := time.Duration(1); ; unit *= 10 {
		if d < 1000*unit {
			return d.Round(unit)
		}
	}
}

func count(n float64) string {
	switch {
	case n >= 1e6:
		return fmt.Sprintf("%.1f million", n/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.0f thousand", n/1e3)
	default:
		return fmt.Sprintf("%.0f", n)
	}
}

func perCall(n float64) string {
	if n > 0 && n < 0.01 {
		return fmt.Sprintf("1 for %s", count(1/n))
	}
	return fmt.Sprintf("%.2g", n)
}

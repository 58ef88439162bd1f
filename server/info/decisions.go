package info

import (
	"fmt"

	"github.com/stintdb/stint/server/metrics"
)

// stint is the section about decisions, which Redis does not have.
func (s *Source) stint() []field {
	commands := s.Env.Stats.Commands()
	t := metrics.TotalsOf(commands)
	var latency metrics.Latencies
	for i := range commands {
		if commands[i].Decides {
			latency.Merge(&commands[i].Latency)
		}
	}
	loops, lag := s.Lag.Read(s.Env.Clock.Now())
	_, denied := s.Env.TopKeys.Top(0, s.Env.Clock.Now())
	return []field{
		{"decisions_granted", t.Granted}, {"decisions_denied", t.Denied}, {"decisions_failed", t.Failed},
		{"tokens_granted", t.TokensGranted}, {"tokens_denied", t.TokensDenied},
		{"decision_p50_usec", micros(latency.Quantile(0.5))}, {"decision_p99_usec", micros(latency.Quantile(0.99))},
		{"decision_p999_usec", micros(latency.Quantile(0.999))},
		{"denied_lately", denied}, {"top_keys", s.Env.Settings.Load().TopKeys}, {"top_sampling", s.Env.TopKeys.Weight()},
		{"event_loops_used", loops}, {"event_loop_lag_usec", lag.Microseconds()},
		{"monitors", s.Env.Monitors.Count()}, {"monitor_dropped", s.Env.Monitors.Dropped()},
		{"slowlog_len", s.Env.SlowLog.SlowCount()}, {"ready", zeroOrOne(s.Ready() == nil)},
	}
}

func micros(nanos int64) string { return fmt.Sprintf("%.1f", float64(nanos)/1000) }

// commandStats has a line for each command that was called, as in Redis.
func (s *Source) commandStats() (fields []field) {
	for _, c := range s.Env.Stats.Commands() {
		if n := c.Latency.Count; n > 0 {
			fields = append(fields, field{"cmdstat_" + c.Name, fmt.Sprintf("calls=%d,usec=%d,usec_per_call=%.2f,rejected_calls=0,failed_calls=%d",
				n, c.Latency.SumNanos/1000, float64(c.Latency.SumNanos)/1000/float64(n), c.Errors)})
		}
	}
	return fields
}

// latencyStats has the latencies of each command, as in Redis.
func (s *Source) latencyStats() (fields []field) {
	for _, c := range s.Env.Stats.Commands() {
		if c.Latency.Count > 0 {
			fields = append(fields, field{"latency_percentiles_usec_" + c.Name, fmt.Sprintf("p50=%s,p99=%s,p99.9=%s",
				micros(c.Latency.Quantile(0.5)), micros(c.Latency.Quantile(0.99)), micros(c.Latency.Quantile(0.999)))})
		}
	}
	return fields
}

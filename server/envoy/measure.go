package envoy

import (
	"time"

	"github.com/stintdb/stint/server/metrics"
	"github.com/stintdb/stint/server/rls"
)

// Measure implements [gateway.Measured].
func (s *Service) Measure(r *metrics.Snapshot) {
	rules := s.rules.Load()
	if rules == nil {
		return
	}
	m := &metrics.EnvoyRules{}
	if control := s.control.Load(); control != nil {
		m.Control = &metrics.ControlPlane{
			Accepted: control.Accepted.Load(), Refused: control.Refused.Load(), Connected: control.Connected.Load(), Age: control.Age(time.Now()),
		}
	} else {
		m.Refused = rules.Refused.Load()
	}
	at := map[string]int{} // positions in m.Counts, because shortened paths can be equal
	rules.Rules().VisitCounts(func(path string, c *rls.Counts) {
		m.Rules++
		name := metrics.Label(path)
		i, known := at[name]
		if !known && len(at) == metrics.MaxRules {
			name = metrics.OtherPolicies
			i, known = at[name]
		}
		if !known {
			i = len(m.Counts)
			at[name] = i
			m.Counts = append(m.Counts, metrics.PolicyCounts{Name: name})
		}
		to := &m.Counts[i]
		to.Granted += c.Granted.Load()
		to.Denied += c.Denied.Load()
		to.ShadowDenied += c.ShadowDenied.Load()
	})
	m.Quotas = s.quotas.measure()
	r.Envoy = m
}

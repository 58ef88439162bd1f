package metrics

import "github.com/stintdb/stint/server/warn"

// ofWebhook makes the value of a metric about the webhook.
var ofWebhook = of(func(r *Snapshot) *warn.Counts {
	if !r.Warnings.HasWebhook {
		return nil
	}
	return &r.Warnings
})

const withWebhook = "with `--warn-webhook`"

var warnRows = []Row{{
	Name: "stint_warnings_total", Kind: Counter, Help: "Warnings of limits with WARN: one for each window in which the use of a key reaches the threshold. In a cluster, every node counts all warnings.",
	values: one(func(r *Snapshot) float64 { return float64(r.Warnings.Given) }),
}, {
	Name: "stint_warn_webhook_total", Kind: Counter, When: withWebhook, Labels: []string{"outcome"}, Bound: "posted, failed, lost",
	Help: "Warnings that the webhook accepted (posted), attempts that failed, and warnings that were given up (lost). In a cluster, only the leader posts.",
	values: func(r *Snapshot, emit func(float64, ...string)) {
		if c := r.Warnings; c.HasWebhook {
			emit(float64(c.Posted), "posted")
			emit(float64(c.Failed), "failed")
			emit(float64(c.Lost), "lost")
		}
	},
}, {
	Name: "stint_warn_webhook_queue", Kind: Gauge, When: withWebhook, Help: "Warnings that wait to be posted; on a node that is not the leader, all warnings of the last 10 minutes.",
	values: ofWebhook(func(c *warn.Counts) float64 { return float64(c.Queued) }),
}}

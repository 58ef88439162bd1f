// Package metrics records and exports the metrics of a server.
//
// Sessions count their commands in a [Recorder]: a [Tally] collects the commands of one turn without synchronisation,
// and is added to a stripe of counters when the turn is over. A [Snapshot] is everything that a server knows about
// itself at one instant. [Table] defines the metrics: /metrics, the admin page and docs/metrics.md are derived from its
// rows.
package metrics

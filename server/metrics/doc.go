// Package metrics records and exports the metrics of a server.
//
// [Recorder] is where sessions count: a [Tally] collects the commands of one turn without synchronisation, and is added
// to a stripe of counters when the turn is over. [Snapshot] is everything a server knows about itself at one instant.
// [Table] says which metrics are made of a reading: /metrics, the page on the admin address and docs/metrics.md are
// derived from its rows.
package metrics

// Package limiter has the commands on limiters: one or more for each algorithm, several limits at once, policies,
// reservations and loans. A row has Parse, which turns arguments into operations of the engine, and Reply, which writes
// their results.
package limiter

import (
	"slices"

	"github.com/stintdb/stint/server/command"
)

// Rows returns the rows of the commands on limiters, in the order of the handbook.
func Rows() []command.Row {
	return slices.Concat(throttleRows, acquireRows, concurrencyRows, logRows, shareRows, classRows, adaptiveRows, balanceRows, allRows, reservationRows, lendRows, policyRows, inspectRows, atMostRows, usageRows)
}

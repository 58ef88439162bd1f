// Package testprocess has what tests need of the processes that they start.
package testprocess

import "strings"

// ReadyAt returns the address in the line with which a Stint server says that it accepts connections, and whether the
// line is that one. The server has chosen its port by then.
func ReadyAt(line string) (address string, is bool) {
	_, addresses, is := strings.Cut(line, "ready: accepting connections on ")
	address, _, _ = strings.Cut(addresses, ", ")
	return strings.TrimSpace(address), is
}

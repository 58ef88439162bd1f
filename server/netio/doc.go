// Package netio owns listeners: it opens them with errors that name the remedy, takes connections from them, and closes
// them without resetting those in the kernel's queue. Its event loops move bytes between sockets and sessions; it also
// measures their lag.
package netio

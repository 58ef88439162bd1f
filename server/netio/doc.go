// Package netio owns listeners: it opens them with errors that name the remedy, takes connections from them, and
// closes them without resetting those in the kernel's queue. It also measures the lag of gnet's event loops.
package netio

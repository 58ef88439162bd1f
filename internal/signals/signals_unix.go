//go:build unix

package signals

import "syscall"

// ofUnix are the signals that Windows does not have.
var ofUnix = []Row{
	{syscall.SIGUSR1, Tell, None},
	{syscall.SIGUSR2, Tell, None},
}

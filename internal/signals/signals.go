// Package signals receives the signals of operators from the first moment of the program on.
//
// It imports almost nothing, so that Go initializes it before most other packages of the program: a signal that arrived
// before a handler would end the process by Go's default, as process 1 of a container with exit code 2.
package signals

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// Reaction is the response of a command to a signal.
type Reaction int

// The reactions.
const (
	End  Reaction = iota // gracefully; another such signal ends the process at once
	Tell                 // the command reads it from a channel, and goes on
	None                 // nothing, as if the signal had not been sent
)

// Row is a signal, with the reactions of a server and of the other commands.
type Row struct {
	Signal         syscall.Signal
	Server, Others Reaction
}

// Table has every signal that the program handles. Signals that are not in it have Go's defaults; SIGABRT is for a dump
// of all goroutines.
var Table = append([]Row{
	{syscall.SIGTERM, End, End},
	{syscall.SIGINT, End, End},
	{syscall.SIGQUIT, End, End}, // as in nginx
	{syscall.SIGHUP, Tell, End}, // a server reloads certificates; for the others a terminal is gone
}, ofUnix...)

var (
	wasIgnored = signal.Ignored(syscall.SIGHUP) // by nohup
	received   = receive()
)

func receive() chan os.Signal {
	c := make(chan os.Signal, 2*len(Table))
	for _, row := range Table {
		signal.Notify(c, row.Signal)
	}
	return c
}

// Handle reacts to signals as a server does or as other commands do, also to signals that came before the call. The
// context ends with the first signal to End. The channel has the signals to Tell; without a reader, the newest are
// dropped.
//
// A server does not end by SIGPIPE, when nobody reads its log any longer: it goes on without one.
func Handle(isServer bool) (context.Context, <-chan os.Signal) {
	if isServer {
		signal.Ignore(syscall.SIGPIPE)
	}
	ctx, end := context.WithCancel(context.Background())
	told := make(chan os.Signal, len(Table))
	go func() {
		for s := range received {
			switch reaction(s, isServer) {
			case End:
				reset(isServer)
				end()
			case Tell:
				select {
				case told <- s:
				default:
				}
			}
		}
	}()
	return ctx, told
}

func reaction(s os.Signal, isServer bool) Reaction {
	for _, row := range Table {
		switch {
		case row.Signal != s:
		case isServer:
			return row.Server
		case s == syscall.SIGHUP && wasIgnored:
			return None
		default:
			return row.Others
		}
	}
	return None
}

// reset has the next signal to End end the process at once.
func reset(isServer bool) {
	for _, row := range Table {
		if reaction(row.Signal, isServer) == End {
			signal.Reset(row.Signal)
		}
	}
}

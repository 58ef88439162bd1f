package stint

import (
	"context"
	"net"
	"time"
)

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// uncounted hides a failure to dial from go-redis until it uses the connection. go-redis counts such failures. After as
// many as a pool has connections, it dials once a second only, and probes of the breaker would find the server late.
func uncounted(dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return notDialed{err}, nil
		}
		return c, nil
	}
}

// notDialed is a connection that was never made. Its writes fail, so go-redis gives it up at once.
type notDialed struct{ err error }

func (n notDialed) Read([]byte) (int, error)       { return 0, dialError(n) }
func (n notDialed) Write([]byte) (int, error)      { return 0, dialError(n) }
func (notDialed) Close() error                     { return nil }
func (notDialed) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (notDialed) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (notDialed) SetDeadline(time.Time) error      { return nil }
func (notDialed) SetReadDeadline(time.Time) error  { return nil }
func (notDialed) SetWriteDeadline(time.Time) error { return nil }

// dialError wraps the error of a dial. go-redis unwraps the error of a new connection, and the inner one must remain.
type dialError struct{ err error }

func (d dialError) Error() string { return d.err.Error() }
func (d dialError) Unwrap() error { return d.err }

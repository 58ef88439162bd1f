package servertest

import (
	"net"

	"github.com/stintdb/stint/clients/go/internal/wire"
)

// Scripted is a server whose replies a test chooses. HELLO and CLIENT are answered as by a Redis server without RESP3.
type Scripted struct {
	Address  string
	listener net.Listener
}

// NewScripted listens on a free loopback port. reply gets a command's words and returns the reply in RESP, without the
// final line end; an empty one closes the connection.
func NewScripted(reply func(words []string) string) (*Scripted, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Scripted{Address: listener.Addr().String(), listener: listener}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				wire.Serve(c, reply)
			}()
		}
	}()
	return s, nil
}

// Close ends the server.
func (s *Scripted) Close() { s.listener.Close() }

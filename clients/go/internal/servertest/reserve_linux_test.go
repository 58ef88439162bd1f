package servertest

import (
	"net"
	"testing"
)

// TestReserved: connections are refused, servers can come and go, and nobody else is given the port.
func TestReserved(t *testing.T) {
	address := Reserved(t)
	for range 3 {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			t.Fatal("somebody listens before the server does")
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		client, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		served, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		served.Close() // the server closes first, so that its port stays in TIME_WAIT
		client.Close()
		listener.Close()
	}
	for range 50_000 { // of some 28,000 ports, a free one would be drawn
		other, release, err := Reserve()
		if err != nil {
			t.Fatal(err)
		}
		if release(); other == address {
			t.Fatal("it was given away")
		}
	}
}

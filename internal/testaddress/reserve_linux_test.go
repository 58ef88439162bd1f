package testaddress

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
)

func reserve(t *testing.T) (address string) {
	t.Helper()
	address, release, err := Reserve()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return address
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// A reserved address refuses connections until a server listens on it. Servers can do so one after the other, even
// while connections of the one before are open.
func TestReservedAddressIsListenedOnAgainAndAgain(t *testing.T) {
	address := reserve(t)
	for range 3 {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			t.Fatal("somebody accepts connections")
		}
		listener := listen(t, address)
		client := dial(t, address)
		defer client.Close()
		served, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer served.Close()
		if second, err := net.Listen("tcp", address); err == nil {
			second.Close()
			t.Error("two servers listen at the same time")
		}
		listener.Close()
	}
}

// The system chooses a reserved port neither for a server nor for a client, also after a server has left it.
func TestReservedPortIsGivenToNobody(t *testing.T) {
	const reserved, others = 300, 1000 // of some 28,000 ports that it chooses from
	taken := map[string]bool{}
	for range reserved {
		address := reserve(t)
		if taken[address] {
			t.Fatalf("%s is reserved twice", address)
		}
		taken[address] = true
		if len(taken)%2 == 0 {
			listen(t, address).Close()
		}
	}
	server := listen(t, "127.0.0.1:0")
	defer server.Close()
	for range others {
		for _, wildcard := range []string{"127.0.0.1:0", "0.0.0.0:0", ":0"} {
			other := listen(t, wildcard)
			_, port, _ := net.SplitHostPort(other.Addr().String())
			other.Close()
			if address := "127.0.0.1:" + port; taken[address] {
				t.Fatalf("a server on %s was given %s, which is reserved", wildcard, address)
			}
		}
		client := dial(t, server.Addr().String())
		client.Close()
		if address := client.LocalAddr().String(); taken[address] {
			t.Fatalf("a client was given %s, which is reserved", address)
		}
	}
}

// Since Linux 6.3 a program can have the system choose from a single port. It finds none if that one is reserved.
func TestReservedPortIsNoChoice(t *testing.T) {
	const localPortRange = 51 // IP_LOCAL_PORT_RANGE
	server := listen(t, "127.0.0.1:0")
	defer server.Close()
	_, text, _ := net.SplitHostPort(reserve(t))
	port, _ := strconv.Atoi(text)
	only := func(_, _ string, c syscall.RawConn) (err error) {
		_ = c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, localPortRange, port|port<<16)
		})
		return err
	}
	_, asServer := (&net.ListenConfig{Control: only}).Listen(t.Context(), "tcp4", "127.0.0.1:0")
	if errors.Is(asServer, syscall.ENOPROTOOPT) {
		t.Logf("this system cannot be told: %v", asServer)
		return
	}
	_, asClient := (&net.Dialer{Control: only}).DialContext(t.Context(), "tcp4", server.Addr().String())
	if !errors.Is(asServer, syscall.EADDRINUSE) || !errors.Is(asClient, syscall.EADDRNOTAVAIL) {
		t.Errorf("a server got %v, a client %v", asServer, asClient)
	}
}

// Without a release a port would never come back. Another program may be given one of them at once, but not all.
func TestReleasedAddressIsFree(t *testing.T) {
	var err error
	for range 10 {
		address, release, failed := Reserve()
		if failed != nil {
			t.Fatal(failed)
		}
		release()
		release() // must not close another file that has the same number by now
		var listener net.Listener
		if listener, err = net.Listen("tcp", address); err == nil {
			listener.Close()
			return
		}
	}
	t.Error(err)
}

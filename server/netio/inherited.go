package netio

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stintdb/stint/server/config"
)

// firstInherited is the descriptor of the first socket that systemd passes, as sd_listen_fds(3) has it.
const firstInherited = 3

// sockets are listening sockets that systemd, or a supervisor that does the same, has opened for this process.
type sockets struct {
	mu     sync.Mutex
	unused []net.Listener
	err    error // why they cannot be used
}

var inherited = sync.OnceValue(readInherited)

func readInherited() *sockets {
	s := new(sockets)
	if os.Getenv("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return s // they are for another process
	}
	n, err := strconv.Atoi(os.Getenv("LISTEN_FDS"))
	if err != nil {
		s.err = fmt.Errorf("LISTEN_FDS must be a number of sockets, got %q: let systemd set it, or unset LISTEN_PID", os.Getenv("LISTEN_FDS"))
	}
	for fd := firstInherited; fd < firstInherited+n && s.err == nil; fd++ {
		file := os.NewFile(uintptr(fd), "socket")
		ln, err := listenOnFile(file) // a copy of the descriptor
		file.Close()
		if err != nil {
			s.err = fmt.Errorf("cannot accept connections on descriptor %d, which systemd has passed: %w; the .socket unit needs ListenStream= and Accept=no", fd, err)
			break
		}
		s.unused = append(s.unused, ln)
	}
	return s
}

const keepAliveIdle = 300 * time.Second

var keepAlive = net.KeepAliveConfig{Enable: true, Idle: keepAliveIdle, Interval: keepAliveIdle / 5, Count: 5}

// listenOnFile is net.FileListener, but checks idle connections as those of the server's own sockets are checked.
func listenOnFile(file *os.File) (net.Listener, error) {
	ln, err := net.FileListener(file)
	if tcp, ok := ln.(*net.TCPListener); ok {
		return keptAlive{tcp}, err
	}
	return ln, err
}

// keptAlive sets the options of accepted connections. Package net sets its own on those of a socket that was passed.
type keptAlive struct{ *net.TCPListener }

// Accept implements [net.Listener].
func (l keptAlive) Accept() (net.Conn, error) {
	conn, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	_ = conn.SetKeepAliveConfig(keepAlive) // fails only for a connection that has ended
	return conn, nil
}

// take returns the socket with an address, nil for none.
func (s *sockets) take(network, address string) net.Listener {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tcp, err := net.ResolveTCPAddr("tcp", address); network == "tcp" && err == nil {
		address = tcp.String()
	}
	at := slices.IndexFunc(s.unused, func(ln net.Listener) bool {
		return ln.Addr().Network() == network && ln.Addr().String() == address
	})
	if at < 0 {
		return nil
	}
	ln := s.unused[at]
	s.unused = slices.Delete(s.unused, at, at+1)
	return ln
}

// CheckInherited returns an error if systemd has passed a socket that cannot be used, or on which no setting listens: its
// clients would wait for ever.
func CheckInherited() error {
	s := inherited()
	if s.err != nil {
		return s.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var addresses []string
	for _, ln := range s.unused {
		address := ln.Addr().String()
		if ln.Addr().Network() == "unix" {
			address = config.UnixPrefix + address
		}
		addresses = append(addresses, address)
	}
	if addresses == nil {
		return nil
	}
	return fmt.Errorf("systemd has passed a socket on %s, but no setting listens there: name the same address with --listen, or take it out of the .socket unit", strings.Join(addresses, ", "))
}

//go:build installed

package installed

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stintdb/stint/internal/testwait"
)

const (
	clientsOfEach = 4  // servers
	keysOfRound   = 50 // each of them a limit that does not fill up again within a test
	capacity      = 40
	roundRequests = 25 // that each client has answered before a round ends
)

// load is clients that take tokens, each at one server, until they are stopped, and their replies.
type load struct {
	addresses []string
	stopped   atomic.Bool
	running   sync.WaitGroup
	round     atomic.Int64
	answered  []atomic.Int64 // by each client

	mu      sync.Mutex
	granted map[string]int64
	unknown map[string]int64 // requests of which nobody knows whether they were carried out
	wrong   error            // the first answer that should not be
}

func startLoad(t *testing.T, addresses ...string) *load {
	l := &load{addresses: addresses, answered: make([]atomic.Int64, clientsOfEach*len(addresses)), granted: map[string]int64{}, unknown: map[string]int64{}}
	for i := range l.answered {
		l.running.Go(func() {
			for r := rand.New(rand.NewPCG(1, uint64(i))); !l.stopped.Load(); {
				key := fmt.Sprintf("%d:%d", r.Int64N(l.round.Load()+1), r.IntN(keysOfRound))
				_ = testwait.Poll(func() error { // with a pace where the server does not serve
					if l.stopped.Load() {
						return nil
					}
					return l.take(i, key, 1)
				})
			}
		})
	}
	t.Cleanup(l.stop)
	return l
}

func (l *load) stop() {
	l.stopped.Store(true)
	l.running.Wait()
}

// take asks for tokens, on a new connection, and takes fewer if there are no more. It is an error if the server has
// refused to decide.
func (l *load) take(client int, key string, tokens int64) error {
	reply, err := ask(l.addresses[client%len(l.addresses)], "TB.ACQUIRE", key, strconv.Itoa(capacity), "1/365d", fmt.Sprint(tokens), "UPTO")
	l.mu.Lock()
	defer l.mu.Unlock()
	var failed *net.OpError
	switch {
	case errors.As(err, &failed) && failed.Op == "dial":
		return err
	case strings.HasPrefix(reply, "-CLUSTERDOWN "):
		return errors.New(reply)
	case err != nil, strings.HasPrefix(reply, "-UNCERTAIN "):
		l.unknown[key] += tokens
		return nil
	}
	l.answered[client].Add(1)
	words := strings.Fields(reply)
	if len(words) != 6 || words[0] != "*5" {
		l.wrong = errors.Join(l.wrong, fmt.Errorf("%s is answered %q", key, reply))
		l.stopped.Store(true)
		return nil
	}
	got, err := strconv.ParseInt(words[1][1:], 10, 64)
	l.granted[key] += got
	return err
}

// awaitRound waits until every client has been answered often, and begins the next round, with more keys.
func (l *load) awaitRound(t *testing.T) {
	t.Helper()
	for i := range l.answered {
		want := l.answered[i].Load() + roundRequests
		testwait.Until(t, fmt.Sprintf("client %d is answered", i), func() bool { return l.stopped.Load() || l.answered[i].Load() >= want })
	}
	l.round.Add(1)
}

// check takes the rest of every limit, at all servers in turn: then each has granted all of its tokens and no more, but
// for requests of unknown outcome.
func (l *load) check(t *testing.T) {
	t.Helper()
	l.stop()
	var keys []string
	for round := range l.round.Load() + 1 {
		for i := range keysOfRound {
			keys = append(keys, fmt.Sprintf("%d:%d", round, i))
		}
	}
	var granted, unknown int64
	for _, key := range keys {
		granted, unknown = granted+l.granted[key], unknown+l.unknown[key]
	}
	t.Logf("%d tokens of %d limits granted under load, %d requests of unknown outcome", granted, len(keys), unknown)
	client := 0
	takeAll := func() (err error) {
		for _, key := range keys {
			err = errors.Join(err, l.take(client, key, capacity))
			client = (client + 1) % len(l.answered)
		}
		return err
	}
	// A node may hold tokens for a moment that another one is asked for.
	lost := testwait.Poll(func() error {
		if err := takeAll(); err != nil {
			return err
		}
		for _, key := range keys {
			if l.granted[key]+l.unknown[key] < capacity {
				return fmt.Errorf("%s: only %d tokens of %d can be had, and %d requests are of unknown outcome", key, l.granted[key], capacity, l.unknown[key])
			}
		}
		return nil
	})
	var tooMany []string
	if err := errors.Join(lost, takeAll(), l.wrong); err != nil {
		t.Error(err)
	}
	for _, key := range keys {
		if l.granted[key] > capacity {
			tooMany = append(tooMany, fmt.Sprintf("%s: %d tokens of %d", key, l.granted[key], capacity))
		}
	}
	if len(tooMany) > 0 {
		t.Errorf("%d limits of %d granted too much, such as\n%s", len(tooMany), len(keys), strings.Join(tooMany[:min(5, len(tooMany))], "\n"))
	}
}

// ask sends a command and returns the reply as it comes.
func ask(address string, words ...string) (reply string, err error) {
	conn, err := net.DialTimeout("tcp", address, testwait.Limit)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	_ = conn.SetDeadline(testwait.Deadline())
	if _, err := io.WriteString(conn, strings.Join(words, " ")+"\r\nQUIT\r\n"); err != nil {
		return "", err
	}
	all, err := io.ReadAll(conn)
	reply, whole := strings.CutSuffix(string(all), "+OK\r\n")
	if !whole {
		return reply, errors.Join(io.ErrUnexpectedEOF, err)
	}
	return reply, nil
}

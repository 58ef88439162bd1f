package upstream_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/upstream"
)

// running is a server in this process.
type running struct {
	address  string
	store    *engine.Store
	upstream *upstream.Upstream
	end      func()
}

// start starts a server, which has a home unless that is "".
func start(t *testing.T, home string) *running {
	t.Helper()
	r := &running{store: engine.New(engine.Config{Shards: 4, Commands: server.NewCommands()})}
	now := clock.New(0)
	log := slog.New(slog.DiscardHandler)
	cfg := config.Default()
	cfg.Listen, cfg.Admin, cfg.ShutdownTimeout = []string{"127.0.0.1:0"}, "", time.Second
	var d decider.Decider = &decider.Local{Store: r.store, Clock: now}
	if home != "" {
		id := fmt.Sprintf("region-%d", rand.Uint32())
		r.upstream = upstream.New(upstream.Options{
			Addresses: []string{home}, Keys: []string{"g:*"}, Timeout: time.Second, Decider: d, Store: r.store, Now: now.Now,
			Holder: func() string { return id }, Leads: func() bool { return true }, Alone: true, Log: log,
		})
		d = r.upstream
	}
	s := server.New(server.Options{Config: cfg, Decider: d, Keys: r.store, Clock: now, Log: log})
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan string), make(chan error, 1)
	go func() { done <- s.Serve(ctx, func(addresses []string) { ready <- addresses[0] }) }()
	select {
	case r.address = <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	r.end = sync.OnceFunc(func() {
		cancel()
		<-done
		if r.upstream != nil {
			ending, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			r.upstream.Close(ending)
			cancel()
		}
		r.store.Close()
	})
	t.Cleanup(r.end)
	return r
}

// client is a connection to a server.
type client struct {
	conn net.Conn
	in   *bufio.Reader
}

func dial(t testing.TB, address string) *client {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &client{conn, bufio.NewReader(conn)}
}

// do sends a command and returns the integers of the reply, or its error.
func (c *client) do(command string) (ints []int64, failure string) {
	if _, err := c.conn.Write([]byte(command + "\r\n")); err != nil {
		return nil, err.Error()
	}
	line, err := c.in.ReadString('\n')
	if err != nil {
		return nil, err.Error()
	}
	if line = strings.TrimSpace(line); line[0] == '-' {
		return nil, line[1:]
	}
	count := 1
	if line[0] == '*' {
		count, _ = strconv.Atoi(line[1:])
		line = ""
	}
	for range count {
		if line == "" {
			if line, err = c.in.ReadString('\n'); err != nil {
				return nil, err.Error()
			}
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line[1:]), 10, 64)
		if line = ""; err != nil {
			continue
		}
		ints = append(ints, n)
	}
	return ints, ""
}

// Two regions far from home grant nearly all requests from lent tokens, and with home no more than the limit: of a bucket that
// hardly refills, every token is granted at most once, while links are cut and a region is replaced.
func TestRegionsShareALimit(t *testing.T) {
	const capacity, callers, length = 30_000, 4, 6 * time.Second
	home := start(t, "")
	ways := []*proxy{startProxy(t, home.address), startProxy(t, home.address)}
	regions := []*running{start(t, ways[0].address()), start(t, ways[1].address())}
	for _, w := range ways {
		w.delay.Store(int64(75 * time.Millisecond)) // 150 ms there and back
	}
	var granted, uncertain, refused atomic.Int64
	stop := make(chan struct{})
	var all sync.WaitGroup
	for caller := range 2*callers + 1 {
		address := home.address // at home, too
		pause := 10 * time.Millisecond
		if caller < 2*callers {
			address, pause = regions[caller%2].address, 2*time.Millisecond
		}
		c := dial(t, address)
		all.Go(func() {
			for r := rand.New(rand.NewPCG(1, uint64(caller))); ; {
				select {
				case <-stop:
					return
				default:
				}
				ints, failure := c.do(fmt.Sprintf("TB.ACQUIRE g:1 %d 1/24h %d", capacity, 1+r.IntN(3)))
				switch {
				case failure == "" && len(ints) == 5:
					granted.Add(ints[0])
				case strings.HasPrefix(failure, "UNCERTAIN "):
					uncertain.Add(1)
				case strings.HasPrefix(failure, "UPSTREAM "):
					refused.Add(1)
				default:
					t.Errorf("%v %s", ints, failure)
					return
				}
				time.Sleep(time.Duration(r.Int64N(int64(2 * pause))))
			}
		})
	}
	r := rand.New(rand.NewPCG(2, 2))
	for until := time.Now().Add(length); time.Now().Before(until); {
		time.Sleep(time.Duration(r.Int64N(int64(time.Second))))
		way := ways[r.IntN(2)]
		way.isCut.Store(true)
		time.Sleep(time.Duration(r.Int64N(int64(time.Second))))
		if r.IntN(2) == 0 {
			way.closeAll()
		}
		way.isCut.Store(false)
	}
	close(stop)
	all.Wait()
	var local, others int64
	for _, x := range regions {
		s := x.upstream.Status()
		local, others = local+s.Local, others+s.Asked+s.Uncertain
		x.end() // which returns its tokens
	}
	t.Logf("%d tokens granted, %d requests from lent tokens, %d others, %d uncertain, %d refused", granted.Load(), local, others, uncertain.Load(), refused.Load())
	if local < 4*others {
		t.Errorf("only %d requests were granted from lent tokens, %d not", local, others)
	}
	// A client that asks for the rest must get the tokens that nobody was granted, and none besides.
	rest := int64(0)
	c := dial(t, home.address)
	for {
		ints, failure := c.do(fmt.Sprintf("TB.ACQUIRE g:1 %d 1/24h %d UPTO", capacity, capacity))
		if failure != "" || ints[0] == 0 {
			break
		}
		rest += ints[0]
	}
	if sum := granted.Load() + rest; sum > capacity || sum < capacity-3*uncertain.Load()-capacity/8 {
		t.Errorf("%d tokens were granted, and %d are left, of %d", granted.Load(), rest, capacity)
	}
}

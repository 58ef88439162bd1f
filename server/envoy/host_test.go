package envoy

import (
	"context"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/tidwall/redcon"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testlog"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/clock/clocktest"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/servertest"
)

// begin is when the clocks of tests start: 25 seconds after a full minute, 3:04 hours after midnight.
var begin = time.Unix(1767323065, 0)

// host is a server with the service, on a clock that does not advance by itself.
type host struct {
	testing.TB
	*Service
	server *server.Server
	clock  *clocktest.Manual
	addr   string // of the service
	stop   func() error
	log    testlog.Log

	addresses []string
}

func newHost(t testing.TB, change func(*config.Config, *server.Options)) *host {
	h := &host{TB: t, Service: new(Service), clock: clocktest.New(begin)}
	h.Service.now = func() time.Time { return time.Unix(0, h.clock.Now()) }
	cfg := config.Default()
	cfg.Listen, cfg.GRPCListen, cfg.RLSConfig, cfg.Loops, cfg.IdleTimeout = []string{"127.0.0.1:0"}, []string{"127.0.0.1:0"}, "testdata/rules", 1, 0
	keys := store.New(store.Config{Shards: 16})
	t.Cleanup(keys.Close)
	o := server.Options{Decider: &decider.Local{Store: keys, Clock: h.clock.Clock}, Keys: keys, Clock: h.clock.Clock, Log: h.log.Logger(), Version: "0.0.0-test"}
	if change != nil {
		change(&cfg, &o)
	}
	if err := cfg.Check(); err != nil {
		t.Fatal(err)
	}
	o.Config = cfg
	o.Services = append(o.Services, h.Service)
	h.server = server.New(o)
	addresses, stop := servertest.Serve(t, h.server)
	h.addr, h.stop, h.addresses = addresses[len(addresses)-1], stop, addresses
	return h
}

// dial connects to the service.
func (h *host) dial(options ...grpc.DialOption) *grpc.ClientConn {
	h.Helper()
	if len(options) == 0 {
		options = append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	c, err := grpc.NewClient(h.addr, options...)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = c.Close() })
	return c
}

func (h *host) client() ratelimit.RateLimitServiceClient {
	return ratelimit.NewRateLimitServiceClient(h.dial())
}

// do executes a command as an operator.
func (h *host) do(line string) redcon.RESP {
	h.Helper()
	replies, err := h.server.Do(context.Background(), "test", strings.Fields(line))
	if err != nil {
		h.Fatal(line, err)
	}
	return replies[0]
}

package envoy

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/config"
)

// begin sends the header of a request, and no message.
func (h *host) begin(ctx context.Context, c *grpc.ClientConn) grpc.ClientStream {
	h.Helper()
	s, err := c.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, ratelimit.RateLimitService_ShouldRateLimit_FullMethodName)
	if err != nil {
		h.Fatal(err)
	}
	return s
}

func (h *host) eventually(name string, is func() bool) {
	h.Helper()
	testwait.Until(h, name, is)
}

// The number of requests without a message is limited, and their places become free when the clients give up.
func TestRequestsUnderWay(t *testing.T) {
	h := newHost(t, func(_ *config.Config, o *server.Options) {})
	const most = 10
	h.Service.requests.most.Store(most)
	c := h.dial()
	ctx, cancel := context.WithCancel(context.Background())
	for range most {
		h.begin(ctx, c)
	}
	h.eventually("the requests are under way", func() bool { return h.Service.requests.count.Load() == most })
	client := ratelimit.NewRateLimitServiceClient(h.dial())
	h.expect(context.Background(), client, parse(t, "shop table=orders"), codes.Unavailable, "10 requests are in progress")
	cancel()
	h.eventually("their places are free", func() bool { return h.Service.requests.count.Load() == 0 })
	h.expect(context.Background(), client, parse(t, "shop table=orders"), codes.OK, "")
}

// A request whose message does not come ends at --command-timeout.
func TestSlowMessage(t *testing.T) {
	h := newHost(t, func(cfg *config.Config, _ *server.Options) { cfg.CommandTimeout = 50 * time.Millisecond })
	s := h.begin(context.Background(), h.dial())
	err := s.RecvMsg(&ratelimit.RateLimitResponse{})
	if status.Code(err) != codes.DeadlineExceeded {
		t.Error(err)
	}
}

// The number of clients that watch the health is limited, and they do not displace requests.
func TestWatchers(t *testing.T) {
	h := newHost(t, nil)
	client := grpc_health_v1.NewHealthClient(h.dial())
	watch := func() error {
		w, err := client.Watch(context.Background(), &grpc_health_v1.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.Recv()
		return err
	}
	for range maxWatchers {
		if err := watch(); err != nil {
			t.Fatal(err)
		}
	}
	if err := watch(); status.Code(err) != codes.ResourceExhausted {
		t.Error(err)
	}
	if n := h.Service.requests.count.Load(); n != 0 {
		t.Errorf("%d watchers count as requests", n)
	}
}

// A client that begins requests and resets them at once, as fast as it can, keeps few goroutines busy, and others are
// served.
func TestRapidReset(t *testing.T) {
	h := newHost(t, nil)
	client := h.client()
	h.expect(context.Background(), client, parse(t, "shop table=orders"), codes.OK, "")
	before := runtime.NumGoroutine()
	flood, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer flood.Close()
	go func() { _, _ = io.Copy(io.Discard, flood) }()
	_, _ = flood.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))
	_, _ = flood.Write(frame(0x4, 0, 0, nil)) // SETTINGS
	most := 0
	for i := range 200 {
		var burst bytes.Buffer
		for j := range 100 {
			id := uint32(2*(100*i+j) + 1)
			burst.Write(frame(0x1, 0x4, id, header())) // HEADERS, all of them
			burst.Write(frame(0x3, 0, id, []byte{0, 0, 0, 8}))
		}
		if _, err := flood.Write(burst.Bytes()); err != nil {
			break // the server may end the connection
		}
		most = max(most, runtime.NumGoroutine()-before)
	}
	if most > 10*maxStreams { // one for each request in progress, and some that are ending
		t.Errorf("%d goroutines for 20,000 requests", most)
	}
	h.expect(context.Background(), client, parse(t, "shop table=orders"), codes.OK, "")
	h.eventually("no request is under way", func() bool { return h.Service.requests.count.Load() == 0 })
}

// frame returns an HTTP/2 frame.
func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// header returns the header of a request, in HPACK without a table or Huffman codes.
func header() []byte {
	b := []byte{0x83, 0x86} // :method POST, :scheme http
	for _, field := range [][2]string{
		{":path", ratelimit.RateLimitService_ShouldRateLimit_FullMethodName}, {":authority", "stint"}, {"content-type", "application/grpc"}, {"te", "trailers"},
	} {
		b = append(b, 0)
		for _, text := range field {
			b = append(append(b, byte(len(text))), text...)
		}
	}
	return b
}

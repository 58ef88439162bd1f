package httpapi

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/gateway"
)

// discard is a writer that keeps only the status, as cheap as one can be.
type discard struct {
	header http.Header
	status int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) WriteHeader(status int)      { d.status = status }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }

// BenchmarkHandler measures the handlers alone, without net/http's server.
func BenchmarkHandler(b *testing.B) {
	service := new(Service)
	h := serveBy(b, service, func(cfg *config.Config) { cfg.HTTPListen = []string{"127.0.0.1:0"} })
	h.run("RL.POLICY SET api TB u:{} 1000000000 1000000000/s")
	conn := connTo(b, service.gateway)
	b.Run("policy", func(b *testing.B) {
		handle(b, service, conn, http.MethodPost, "/v1/check", `{"policy":"api","id":"7"}`)
	})
	b.Run("limits", func(b *testing.B) {
		handle(b, service, conn, http.MethodPost, "/v1/check", `{"limits":[{"algorithm":"TB","key":"k","capacity":1000000000,"rate":1000000000}]}`)
	})
	b.Run("auth", func(b *testing.B) { handle(b, service, conn, http.MethodGet, "/v1/auth?policy=api&id=7", "") })
}

// connTo returns the server's end of a new connection.
func connTo(b testing.TB, g *gateway.Gateway) *gateway.Conn {
	listeners, _, err := g.Listen(gateway.Addresses{All: []string{"127.0.0.1:0"}})
	if err != nil {
		b.Fatal(err)
	}
	client, err := net.Dial("tcp", listeners[0].Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	accepted, err := listeners[0].Accept()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = client.Close()
		_ = accepted.Close()
		_ = listeners[0].Close()
	})
	return gateway.ConnOf(accepted)
}

// handle has one request answered again and again.
func handle(b *testing.B, service *Service, conn *gateway.Conn, method, target, body string) {
	r, err := http.NewRequestWithContext(context.WithValue(b.Context(), connKey{}, conn), method, "http://localhost"+target, nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header["Content-Type"] = []string{typeJSON}
	r.ContentLength = int64(len(body))
	in := bytes.NewReader([]byte(body))
	r.Body = io.NopCloser(in)
	w := &discard{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		in.Reset([]byte(body))
		clear(w.header)
		w.status = 0
		if service.ServeHTTP(w, r); w.status != 0 && w.status != http.StatusOK {
			b.Fatal(w.status)
		}
	}
}

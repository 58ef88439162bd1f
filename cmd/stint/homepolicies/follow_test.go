package homepolicies

import (
	"context"
	"io"
	"log/slog"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/server/upstream"
)

// A server that ends does not wait for a home that does not answer.
func TestFollowerEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, home := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, home) }()
		f := Follower{Leads: func() bool { return true }, Log: slog.New(slog.DiscardHandler), Home: upstream.Options{
			Addresses: []string{"home"}, Dial: func(context.Context, string) (net.Conn, error) { return here, nil },
		}}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			f.Follow(ctx, nil)
			close(ended)
		}()
		synctest.Wait()
		began := time.Now()
		cancel()
		<-ended
		if waited := time.Since(began); waited > 0 {
			t.Errorf("it waits for %v", waited)
		}
	})
}

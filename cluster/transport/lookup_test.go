package transport

import (
	"context"
	"net"
	"testing"
)

// A connection to a name that the resolver does not answer for ends with its context, and so does Listen.
func TestSilentResolver(t *testing.T) {
	before := net.DefaultResolver
	defer func() { net.DefaultResolver = before }()
	asked := make(chan net.Conn, 64)
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe() // nobody answers
		asked <- far
		return near, nil
	}}
	for name, connect := range map[string]func(ctx context.Context) error{
		"dial":   func(ctx context.Context) error { _, err := TCP{}.Dial(ctx, "node.silent.example:7379"); return err },
		"listen": func(ctx context.Context) error { _, err := listen(ctx, "node.silent.example:7379"); return err },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- connect(ctx) }()
		far := <-asked
		cancel()
		if err := <-done; err == nil {
			t.Errorf("%s: no error", name)
		}
		far.Close()
	}
}

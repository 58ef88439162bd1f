package homepolicies

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
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

// While the policies of home stay as they are, a look at them is one small request. After a change here or there, they
// are read again.
func TestUnchangedPoliciesAreNotRead(t *testing.T) {
	cfg := config.Default()
	keys := store.New(store.Config{Shards: 1, Commands: new(server.Commands).On(&cfg, nil)})
	defer keys.Close()
	now, log := clock.New(0), slog.New(slog.DiscardHandler)
	s := server.New(server.Options{Config: cfg, Decider: &decider.Local{Store: keys, Clock: now}, Keys: keys, Clock: now, Log: log})
	here, home := net.Pipe()
	defer here.Close()
	version, asked := "", make(chan string, 10)
	go func() {
		for in := bufio.NewReader(home); ; {
			for range 4 { // *2, $9, RL.POLICY, and the length of the next word
				_, _ = in.ReadString('\n')
			}
			word, err := in.ReadString('\n')
			if err != nil {
				return
			}
			word = strings.TrimSpace(word)
			asked <- word
			reply := "*0\r\n"
			if word == "VERSION" {
				reply = fmt.Sprintf("$%d\r\n%s\r\n", len(version), version)
			}
			_, _ = io.WriteString(home, reply)
		}
	}()
	f := Follower{Log: log, Home: upstream.Options{Addresses: []string{"home"}, Dial: func(context.Context, string) (net.Conn, error) { return here, nil }}}
	for _, want := range []string{"VERSION LIST", "VERSION", "VERSION LIST", "VERSION"} {
		if want != "VERSION" {
			version += "+"
		}
		if err := f.update(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		var got []string
		for len(asked) > 0 {
			got = append(got, <-asked)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("asked for %s, want %s", got, want)
		}
	}
}

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

// follow starts a Follower of a home that has no policies but those of which get returns the reply to RL.POLICY GET, "" for
// none. update returns the subcommands that the home has seen in an update.
func follow(t *testing.T, version *string, get func() string) (update func() (asked string, err error)) {
	cfg := config.Default()
	keys := store.New(store.Config{Shards: 1, Commands: new(server.Commands).On(&cfg, nil)})
	now, log := clock.New(0), slog.New(slog.DiscardHandler)
	s := server.New(server.Options{Config: cfg, Decider: &decider.Local{Store: keys, Clock: now}, Keys: keys, Clock: now, Log: log})
	here, home := net.Pipe()
	t.Cleanup(func() {
		here.Close()
		keys.Close()
	})
	asked := make(chan string, 10)
	go func() {
		for in := bufio.NewReader(home); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			var words []string
			for count := int(line[1] - '0'); len(words) < count; words = append(words, strings.TrimSpace(line)) {
				_, _ = in.ReadString('\n') // the length
				line, _ = in.ReadString('\n')
			}
			asked <- words[1]
			reply, policy := "*0\r\n", get()
			switch {
			case words[1] == "VERSION":
				reply = fmt.Sprintf("$%d\r\n%s\r\n", len(*version), *version)
			case words[1] == "GET":
				time.Sleep(10 * time.Millisecond)
				reply = policy
			case policy != "":
				reply = "*1\r\n$3\r\nbad\r\n"
			}
			_, _ = io.WriteString(home, reply)
		}
	}()
	f := Follower{Log: log, Patterns: []string{"*"}, Home: upstream.Options{Addresses: []string{"home"}, Dial: func(context.Context, string) (net.Conn, error) { return here, nil }}}
	return func() (string, error) {
		err := f.update(t.Context(), s)
		var got []string
		for len(asked) > 0 {
			got = append(got, <-asked)
		}
		return strings.Join(got, " "), err
	}
}

// While the policies of home stay as they are, a look at them is one small request. After a change here or there, they
// are read again.
func TestUnchangedPoliciesAreNotRead(t *testing.T) {
	version := ""
	update := follow(t, &version, func() string { return "" })
	for _, want := range []string{"VERSION LIST", "VERSION", "VERSION LIST", "VERSION"} {
		if want != "VERSION" {
			version += "+"
		}
		if got, err := update(); err != nil || got != want {
			t.Errorf("asked for %s, want %s, %v", got, want, err)
		}
	}
}

// Policies that this server refuses are not read again and again: only after a change, or after many times the time that
// it took.
func TestRefusedPoliciesAreNotReadAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		version := "1"
		update := follow(t, &version, func() string { return "*2\r\n$6\r\nlimits\r\n*1\r\n$3\r\nBAD\r\n" })
		for i, want := range []string{"VERSION LIST GET", "VERSION", "VERSION", "VERSION LIST GET", "VERSION LIST GET"} {
			if i == 3 {
				time.Sleep(time.Second)
			}
			if i == 4 {
				version = "2"
			}
			if got, err := update(); err == nil || got != want {
				t.Errorf("%d: asked for %s, want %s, %v", i, got, want, err)
			}
		}
	})
}

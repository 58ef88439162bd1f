package docs

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/internal/testwait"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/clock/clocktest"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/keyevents"
	"github.com/stintdb/stint/server/transcripttest"
)

var update = flag.Bool("update", false, "write the generated parts of the pages, such as the replies in transcripts, instead of comparing them")

// replyTimeout is how long a reply, or a change that follows from one, may take.
const replyTimeout = testwait.Limit

// transcriptStart is the time at which transcripts begin: a Friday.
var transcriptStart = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// TestTranscripts plays each transcript of the handbook against a server in this process.
func TestTranscripts(t *testing.T) {
	for _, p := range handbookPages(t) {
		replayed := &blockTexts{}
		if *update {
			t.Cleanup(func() { // after all blocks, because they are played in parallel
				if err := replayed.write(p); err != nil {
					t.Error(err)
				}
			})
		}
		for _, b := range p.blocks() {
			if b.language == "transcript" {
				t.Run(fmt.Sprintf("%s:%d", p.path, b.line), func(t *testing.T) { playTranscript(t, p, b, replayed) })
			}
		}
	}
}

// blockTexts are new texts of blocks of one page.
type blockTexts struct {
	mu     sync.Mutex
	byLine map[int]string // of the block
}

func (r *blockTexts) add(b block, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byLine == nil {
		r.byLine = map[int]string{}
	}
	r.byLine[b.line] = text
}

// write puts the texts into the page's file.
func (r *blockTexts) write(p page) error {
	if len(r.byLine) == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(root, p.path), []byte(p.withBlocks(r.byLine)), 0o644)
}

func playTranscript(t *testing.T, in page, b block, replayed *blockTexts) {
	t.Parallel() // a server takes half a second to stop
	p := newPlayer(t)
	got, err := transcripttest.Replay(b.text(), p)
	if err := errors.Join(err, p.Close()); err != nil {
		t.Fatal(err)
	}
	if *update && got != b.text() {
		replayed.add(b, got)
		return
	}
	if difference := compare(got, b.text(), 0); difference != "" {
		t.Errorf("%s:%d: %s\ngot:\n%s\nwant:\n%s", in.path, b.line, difference, got, b.text())
	}
}

// player plays transcripts over TCP against a server in this process, whose clock it moves.
type player struct {
	*server.Server
	t       testing.TB
	clock   *clocktest.Manual
	stop    func() error
	address string
	conns   map[string]*client
	held    int // replies that are kept back
}

type client struct {
	*net.TCPConn
	unread *bufio.Reader
	held   bool
}

func newPlayer(t testing.TB) *player {
	p := &player{t: t, clock: clocktest.New(transcriptStart), conns: map[string]*client{}}
	cfg := config.Default()
	cfg.Listen, cfg.Loops, cfg.IdleTimeout = []string{"127.0.0.1:0"}, 1, 0
	changes := new(keyevents.Hub)
	keys := store.New(store.Config{Shards: 16, Commands: new(server.Commands).On(&cfg, nil), Changed: changes.Changed})
	changes.Attach(keys.Observe)
	p.Server = server.New(server.Options{Config: cfg, Decider: &decider.Local{Store: keys, Clock: p.clock.Clock}, Keys: keys,
		KeyEvents: changes, Clock: p.clock.Clock, Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Version: "0.0.0-docs"})
	ctx, cancel := context.WithCancel(context.Background())
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- p.Serve(ctx, func(addresses []string) { ready <- addresses[0] }) }()
	select {
	case p.address = <-ready:
	case err := <-ended:
		t.Fatal(err)
	}
	p.stop = func() error {
		cancel()
		err := <-ended
		keys.Close()
		return err
	}
	return p
}

// Do implements transcripttest.Player.
func (p *player) Do(name string, command [][]byte, want string) (string, error) {
	c := p.conns[name]
	if c == nil {
		conn, err := net.Dial("tcp", p.address)
		if err != nil {
			return "", err
		}
		if err := conn.SetDeadline(time.Now().Add(replyTimeout)); err != nil {
			return "", err
		}
		c = &client{TCPConn: conn.(*net.TCPConn), unread: bufio.NewReader(conn)}
		p.conns[name] = c
	}
	line := fmt.Sprintf("*%d\r\n", len(command))
	for _, word := range command {
		line += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(c, line); err != nil {
		return "", err
	}
	switch want {
	case transcripttest.None:
		return want, nil
	case transcripttest.Held:
		p.held++
		c.held = true
		return want, p.until("blocked_clients", p.held)
	}
	return transcripttest.ReadReply(c.unread)
}

// Next implements transcripttest.Player.
func (p *player) Next(name string) (string, error) {
	c := p.conns[name]
	if c == nil {
		return "", fmt.Errorf("nobody is called %s", name)
	}
	if c.held {
		c.held = false
		p.held--
	}
	return transcripttest.ReadReply(c.unread)
}

// HangUp implements transcripttest.Player.
func (p *player) HangUp(name string) error {
	c := p.conns[name]
	delete(p.conns, name)
	if c.held {
		p.held--
	}
	if err := c.Close(); err != nil {
		return err
	}
	return p.until("connected_clients", len(p.conns))
}

// until waits until a field of INFO has a value.
func (p *player) until(name string, count int) error {
	testwait.Until(p.t, fmt.Sprintf("%s is %d", name, count), func() bool {
		return strings.Contains(p.Info([]string{"clients"}), fmt.Sprintf("\r\n%s:%d\r\n", name, count))
	})
	return nil
}

// Advance implements transcripttest.Player.
func (p *player) Advance(d time.Duration) { p.clock.Advance(d) }

// Close implements transcripttest.Player.
func (p *player) Close() (err error) {
	for name, c := range p.conns {
		_ = c.CloseWrite()
		if rest, _ := io.ReadAll(c.unread); len(rest) > 0 {
			err = errors.Join(err, fmt.Errorf("connection %q was sent more: %q", name, rest))
		}
		c.Close()
	}
	return errors.Join(err, p.stop())
}

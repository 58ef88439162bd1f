package mux

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stintdb/stint/internal/testsize"
)

// gatedConn counts writes, and blocks them while its gate is closed.
type gatedConn struct {
	net.Conn
	gate   chan struct{} // full while writes are to wait
	mu     sync.Mutex
	writes int
	bytes  int
}

func (c *gatedConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	c.writes++
	c.bytes += len(b)
	c.mu.Unlock()
	c.gate <- struct{}{}
	defer func() { <-c.gate }()
	return c.Conn.Write(b)
}

func (c *gatedConn) count() (writes, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writes, c.bytes
}

// pair connects two ends, of which the second serves streams.
func pair(t *testing.T, serve func(s *Stream, group uint32)) (*Conn, *gatedConn) {
	t.Helper()
	here, there := net.Pipe()
	gated := &gatedConn{Conn: here, gate: make(chan struct{}, 1)}
	c := New(gated)
	admit := func(group uint32) error {
		if group == 99 {
			return errors.New("this node has no group 99 yet")
		}
		return nil
	}
	s := Accept(there, admit, serve)
	var ended sync.WaitGroup
	ended.Go(func() { _ = c.Run() })
	ended.Go(func() { _ = s.Run() })
	t.Cleanup(func() { _ = here.Close(); ended.Wait() })
	return c, gated
}

func open(t *testing.T, c *Conn, group uint32) *Stream {
	t.Helper()
	s, err := c.Open(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// echo sends back the number of a stream's group, and then the stream's input.
func echo(s *Stream, group uint32) {
	_, _ = s.Write([]byte{byte(group)})
	_, _ = io.Copy(s, struct{ io.Reader }{s})
}

// Each stream gets its own bytes, in order, however many send at the same time: long and short pieces, in both
// directions.
func TestStreamsKeepApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := pair(t, echo)
		var clients sync.WaitGroup
		for group := range uint32(20) {
			s := open(t, c, group)
			r := rand.New(rand.NewPCG(testsize.Seed(), uint64(group)))
			sent := make([]byte, 300<<10)
			for i := range sent {
				sent[i] = byte(r.Uint32())
			}
			clients.Go(func() {
				for rest := sent; len(rest) > 0; {
					n := min(len(rest), 1+r.IntN(1<<(1+r.IntN(17))))
					if _, err := s.Write(rest[:n]); err != nil {
						t.Error(err)
						return
					}
					rest = rest[n:]
				}
			})
			clients.Go(func() {
				got := make([]byte, 1+len(sent))
				if _, err := io.ReadFull(s, got); err != nil {
					t.Error(err)
				}
				if got[0] != byte(group) || !bytes.Equal(got[1:], sent) {
					t.Errorf("the stream of group %d gets other bytes than were sent, from the server of group %d", group, got[0])
				}
			})
		}
		clients.Wait()
	})
}

// What streams send while a write is under way leaves in the next one.
func TestStreamsShareWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		got := map[uint32]string{}
		c, conn := pair(t, func(s *Stream, group uint32) {
			b := make([]byte, 3)
			_, _ = io.ReadFull(s, b)
			mu.Lock()
			defer mu.Unlock()
			got[group] = string(b)
		})
		var streams []*Stream
		for group := range uint32(12) {
			streams = append(streams, open(t, c, group))
		}
		synctest.Wait()
		before, _ := conn.count()
		conn.gate <- struct{}{}
		for i, s := range streams {
			go func() { _, _ = s.Write(fmt.Appendf(nil, "%3d", i)) }()
			if i == 0 {
				time.Sleep(time.Millisecond) // it is being written
			}
		}
		time.Sleep(time.Millisecond)
		<-conn.gate
		synctest.Wait()
		if writes, _ := conn.count(); writes-before != 2 {
			t.Errorf("%d writes, want 2", writes-before)
		}
		mu.Lock()
		defer mu.Unlock()
		for i := range uint32(12) {
			if want := fmt.Sprintf("%3d", i); got[i] != want {
				t.Errorf("group %d got %q, want %q", i, got[i], want)
			}
		}
	})
}

// A stream that the other end does not serve says why. A stream that ends there is read to its end, and the others go
// on.
func TestStreamsEndAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := pair(t, func(s *Stream, group uint32) {
			if group == 1 {
				_, _ = s.Write([]byte("last"))
				return
			}
			echo(s, group)
		})
		if _, err := c.Open(t.Context(), 99); err == nil || err.Error() != "this node has no group 99 yet" {
			t.Errorf("a group that is not there: %v", err)
		}
		one, two := open(t, c, 1), open(t, c, 2)
		if b, err := io.ReadAll(struct{ io.Reader }{one}); err != nil || string(b) != "last" || !one.HasEnded() {
			t.Errorf("%q (%v)", b, err)
		}
		_ = one.Close()
		_ = two.Close()
		if _, err := two.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Errorf("a closed stream is written to: %v", err)
		}
		three := open(t, c, 3)
		b := make([]byte, 1)
		if _, err := three.Read(b); err != nil || b[0] != 3 {
			t.Errorf("%v (%v)", b, err)
		}
		synctest.Wait()
		if len(c.streams) != 1 {
			t.Errorf("%d streams are left", len(c.streams))
		}
		c.end(io.ErrUnexpectedEOF)
		if _, err := three.Read(b); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a stream of a broken connection: %v", err)
		}
		if _, err := c.Open(t.Context(), 3); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("a stream is opened in a broken connection: %v", err)
		}
	})
}

// A stream that waits too long fails alone if others are answered, and with the connection if nothing arrives: the next
// attempt makes another connection.
func TestSilence(t *testing.T) {
	for _, othersSpeak := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := pair(t, func(s *Stream, group uint32) {
				if group == 2 && othersSpeak {
					for range 3 {
						time.Sleep(time.Second)
						_, _ = s.Write([]byte("x"))
					}
				}
				_, _ = io.Copy(io.Discard, s)
			})
			waits := open(t, c, 1)
			open(t, c, 2)
			_ = waits.SetDeadline(time.Now().Add(2 * time.Second))
			began := time.Now()
			if _, err := waits.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) ||
				time.Since(began) != 2*time.Second {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			if hasEnded := c.Err() != nil; hasEnded == othersSpeak {
				t.Errorf("the connection ends: %v", c.Err())
			}
		})
	}
}

// A stream that is not read stops its sender, and a write that does not end stops all senders.
func TestBoundsOfBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		read := make(chan struct{})
		c, conn := pair(t, func(s *Stream, _ uint32) {
			<-read
			_, _ = io.Copy(io.Discard, s)
		})
		s := open(t, c, 1)
		sent := make(chan int)
		go func() {
			total := 0
			for range 16 {
				n, _ := s.Write(make([]byte, 1<<20))
				total += n
			}
			sent <- total
		}()
		time.Sleep(time.Second) // shorter than a write may take
		if _, bytes := conn.count(); bytes > maxUnreadBytes+maxWaitingBytes+4*maxChunkBytes {
			t.Errorf("%d bytes were sent to one that does not read", bytes)
		}
		if len(c.waiting) > maxWaitingBytes+maxChunkBytes+chunkHead {
			t.Errorf("%d bytes wait", len(c.waiting))
		}
		close(read)
		if total := <-sent; total != 16<<20 {
			t.Errorf("%d bytes arrive", total)
		}
	})
}

// A write that takes too long ends the connection.
func TestStuckWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer there.Close()
		c := New(here)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := c.Open(ctx, 1); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("nobody reads: %v", err)
		}
	})
}

// Malformed chunks end the connection.
func TestChunksThatNobodySends(t *testing.T) {
	opens := func(number uint32) string { return chunk(number, kindOpen, 4) + "\x01\x00\x00\x00" }
	for want, sent := range map[string]string{
		"a chunk of 65537 bytes":   chunk(1, kindData, maxChunkBytes+1),
		"a chunk of kind 9":        chunk(1, 9, 0),
		"stream 1 may not be":      opens(1) + opens(1),
		"stream 2 may not be":      chunk(2, kindOpen, 3),
		"kind 2 and 1 bytes is no": chunk(1, kindOpened, 1),
	} {
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			defer here.Close()
			go func() { _, _ = io.Copy(io.Discard, here) }()
			go func() { _, _ = io.WriteString(here, sent) }()
			err := Accept(there, func(uint32) error { return nil }, func(s *Stream, _ uint32) {
				_, _ = io.Copy(io.Discard, s)
			}).Run()
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v", want, err)
			}
		})
	}
}

// A stream beyond the bound is closed with the reason, and the others stay.
func TestTooManyStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		defer here.Close()
		go func() {
			for i := range uint32(maxStreams + 1) {
				_, _ = io.WriteString(here, chunk(i, kindOpen, 4)+"\x01\x00\x00\x00")
			}
		}()
		c := Accept(there, func(uint32) error { return nil }, func(s *Stream, _ uint32) { _, _ = io.Copy(io.Discard, s) })
		go func() { _ = c.Run() }()
		var head [chunkHead]byte
		for {
			if _, err := io.ReadFull(here, head[:]); err != nil {
				t.Fatal(err)
			}
			reason := make([]byte, binary.LittleEndian.Uint32(head[5:]))
			if _, err := io.ReadFull(here, reason); err != nil {
				t.Fatal(err)
			}
			if head[4] == kindClose {
				if number := binary.LittleEndian.Uint32(head[:]); number != maxStreams ||
					string(reason) != "more than 1024 streams" || c.Err() != nil {
					t.Errorf("stream %d: %q, %v", number, reason, c.Err())
				}
				return
			}
		}
	})
}

func chunk(number uint32, kind byte, size uint32) string {
	b := append(binary.LittleEndian.AppendUint32(nil, number), kind)
	return string(binary.LittleEndian.AppendUint32(b, size))
}

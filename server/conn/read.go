package conn

import (
	"errors"
	"log/slog"

	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/resp"
)

// receive executes bytes that arrived. The connection's owner calls it, without bytes after a wake-up.
// The result is that of feed.
func (s *Session) receive(in []byte, batch *commandBatch, cfg *config.Config) (more bool) {
	s.started, s.work = s.env.Clock.Now(), 0
	if s.wait.isDue(ForTurn) {
		s.wait.end(ForTurn)
	}
	if len(in) == 0 || s.wait.has(replyEvents) {
		more = s.resume(batch, cfg)
	}
	if len(in) > 0 {
		s.lastActive.Store(s.started)
		batch.tally.Bytes(len(in), 0)
		s.connStats.received(len(in))
		more = s.feed(in, batch, cfg)
	}
	return more
}

// feed executes the commands in the input. more reports that it stopped early to have the output sent: call it
// again without input.
func (s *Session) feed(in []byte, batch *commandBatch, cfg *config.Config) (more bool) {
	buf := in
	if len(s.rest) > 0 {
		room := cap(s.rest)
		if s.rest = append(s.rest, in...); cap(s.rest) != room {
			s.reader.Forget() // arguments in the smaller one
		}
		buf = s.rest
	}
	s.reader.Limits = s.inputLimits(cfg)
	batch.out.RESP3 = s.client.RESP3
	batch.request.SetBounds(Bounds(cfg))
	at := 0
	for s.ready() {
		if len(batch.out.Buf) >= outputChunk {
			more = true
			break
		}
		if s.work >= command.MaxBatchWork && at < len(buf) {
			s.wait.begin(ForTurn)
			break
		}
		args, length, err := s.reader.Next(buf[at:])
		if err != nil {
			s.protocolError(batch, err)
			break
		}
		if length == 0 {
			s.flush(batch)
			break
		}
		if batch.first == nil {
			batch.first = buf[at : at+length]
		}
		if len(args) > 0 && !s.execute(args, batch) {
			break
		}
		at += length
		if batch.grow(length) >= MaxBatchBytes && s.ready() {
			s.flush(batch)
		}
	}
	if more || s.wait.has(ForTurn) {
		s.flush(batch)
	}
	s.endTurn(batch)
	s.trackPartialCommand(len(buf)-at, at)
	s.keepRest(buf[at:], s.queryBuffer(cfg), batch)
	return more && s.ready()
}

// ready reports whether the next command can be executed.
func (s *Session) ready() bool { return s.wait.isOver() }

// protocolError answers the commands before the error, then writes the error and closes.
func (s *Session) protocolError(batch *commandBatch, err error) {
	if s.flush(batch); !s.ready() {
		return // the bytes stay in rest and are refused once the answers before are out
	}
	if errors.Is(err, resp.ErrTLS) {
		s.env.logClosed(slog.LevelWarn, "closed a connection by TLS on a port without; TLS is for --tls-listen", "client", s.id, "addr", s.addr)
	}
	batch.out.Error(err.Error())
	s.wait.begin(ForClose)
}

func (s *Session) keepRest(rest []byte, limit int, batch *commandBatch) {
	switch {
	case s.wait.has(ForClose) || len(rest) == 0:
		if s.rest = s.rest[:0]; cap(s.rest) > KeepRestBytes || s.reader.Bytes() > KeepRestBytes {
			s.rest = nil
			s.reader.Forget()
		}
	case len(rest) > limit:
		if s.wait.has(ForReader) {
			s.DropSlowReader(s.conn.Unsent())
		}
		batch.out.Error(resp.ErrQueryTooBig.Error())
		s.wait.begin(ForClose)
		s.rest = nil
	case len(rest) == len(s.rest):
		// nothing was consumed, so nothing moves: a client that sends byte by byte costs no more than it sends
	default:
		s.rest = append(s.rest[:0], rest...) // overlaps only by moving down
	}
}

// dropBuffers frees the buffers of a closed connection, because other connections may still refer to its session.
func (s *Session) dropBuffers() {
	s.rest, s.multi = nil, transaction{}
	s.reader.Forget()
}

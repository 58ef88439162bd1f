package conn

import (
	"errors"
	"log/slog"

	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/conn/wait"
	"github.com/stintdb/stint/server/resp"
)

// receive executes bytes that arrived. The connection's owner calls it, without bytes after a wake-up.
// It returns what feed returns.
func (s *Session) receive(in []byte, batch *commandBatch, cfg *config.Config) (more bool) {
	if !s.turn.HasLoop() {
		s.env.BeginTurn(s.user, s.public.Addr())
		defer s.env.EndTurn()
	}
	s.started = s.env.Clock.Now()
	s.turn.BeginTurn(s.user, s.public.Network())
	s.public.Fanout.BeginTurn()
	if s.public.Cache.IsUsed() {
		s.writeInvalidations(batch) // before the replies to the commands that come now
	}
	if len(in) == 0 || s.public.Wait.Has(wait.ReplyEvents) {
		more = s.resume(batch, cfg)
	}
	if len(in) > 0 {
		s.public.TouchAt(s.started)
		batch.tally.Bytes(len(in), 0)
		s.public.Stats.Received(len(in))
		more = s.feed(in, batch, cfg)
	}
	return more
}

// feed executes the commands in the input. more reports that it stopped early so that the output can be sent: call it
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
	wasSkipping := s.reader.IsSkipping()
	batch.out.RESP3 = s.client.RESP3
	batch.request.SetBounds(Bounds(cfg))
	used, more, err := s.executeAll(buf, batch)
	s.flush(batch)
	if s.public.Cache.IsUsed() {
		s.writeInvalidations(batch)
	}
	s.noteTurn(batch)
	// If it waits, the bytes stay in rest, and are refused after the replies to the commands before them.
	if err != nil && s.ready() {
		s.protocolError(batch, err)
	}
	s.trackPartialCommand(len(buf)-used, used, wasSkipping, more)
	s.keepRest(buf[used:], s.queryBuffer(cfg), batch)
	return more && s.ready()
}

// executeAll executes the commands at the front of the input, up to the first that has to wait or is not whole. more is
// as in feed. The replies of the last commands may still be in the batch.
func (s *Session) executeAll(in []byte, batch *commandBatch) (used int, more bool, err error) {
	first := 0 // where the commands in the batch begin
	for s.ready() {
		if len(batch.out.Buf) >= outputChunk {
			return used, true, nil
		}
		if used < len(in) && (s.turn.HoldsUp() || s.subscriptions.outruns()) {
			s.public.Wait.Begin(wait.ForTurn)
			break
		}
		args, length, err := s.reader.Next(in[used:])
		if length == 0 {
			return used, false, err
		}
		if batch.first == nil && len(args) > 0 {
			batch.first = in[used : used+length]
		}
		if len(batch.replies) == 0 {
			first = used
		}
		taken := true
		switch {
		case err != nil:
			batch.refuse(s, err)
		case len(args) > 0:
			taken = s.execute(args, batch)
		}
		if taken {
			used += length
			s.turn.ChargeCommand(length)
		}
		if !taken || batch.isFull() || used-first >= MaxBatchBytes {
			s.flush(batch)
			s.turn.ChargeTime(s.env.Clock.Now() - s.started)
		}
	}
	return used, false, nil
}

// ready reports whether the next command can be executed.
func (s *Session) ready() bool { return s.public.Wait.IsOver() }

// refuse answers a command that the reader skipped because it was beyond a bound.
func (batch *commandBatch) refuse(s *Session, err error) {
	s.public.PartialSince.Store(0) // it has arrived
	if s.multi.open {
		s.flush(batch)
		s.queue(nil, nil, err, batch)
		return
	}
	batch.add(s, nil, nil, err, s.takeReplyMode())
}

// protocolError refuses input that is not a command, and closes.
func (s *Session) protocolError(batch *commandBatch, err error) {
	if errors.Is(err, resp.ErrTLS) {
		s.env.Registry.LogClosed(slog.LevelWarn, "closed a TLS connection on a port without TLS; TLS clients must connect to --tls-listen",
			"client", s.public.ID(), "addr", s.public.Addr())
	}
	batch.out.Error(err.Error())
	s.public.Wait.Begin(wait.ForClose)
}

func (s *Session) keepRest(rest []byte, limit int, batch *commandBatch) {
	switch {
	case s.public.Wait.Has(wait.ForClose) || len(rest) == 0:
		if s.rest = s.rest[:0]; cap(s.rest) > KeepRestBytes || s.reader.Bytes() > KeepRestBytes {
			s.rest = nil
			s.reader.Forget()
		}
	case len(rest) > limit:
		if s.public.Wait.Has(wait.ForReader) {
			s.public.DropSlowReader(s.conn.Unsent())
		}
		batch.out.Error(resp.ErrQueryTooBig.With(limit).Error())
		s.public.Wait.Begin(wait.ForClose)
		s.rest = nil
	case len(rest) == len(s.rest):
		// nothing was consumed, so nothing moves: a client that sends byte by byte costs no more than it sends
	default:
		s.rest = append(s.rest[:0], rest...) // overlaps only by moving down
	}
}

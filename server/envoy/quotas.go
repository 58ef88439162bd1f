package envoy

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"sync/atomic"
	"time"

	quota "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/stintdb/stint/server/gateway"
	"github.com/stintdb/stint/server/metrics"
	"github.com/stintdb/stint/server/rlqs"
)

// quotas is the rate limit quota service. It serves streams and finds the rules; package rlqs divides the limits.
type quotas struct {
	quota.UnimplementedRateLimitQuotaServiceServer

	service *Service
	table   *rlqs.Table
	begun   time.Time
	ended   <-chan struct{} // closed when the service stops
	streams chan struct{}   // limits the open streams
	warned  atomic.Int64    // when the last warning was logged

	unanswered atomic.Int64
}

func (q *quotas) start(s *Service, ctx context.Context) {
	var random [8]byte
	_, _ = rand.Read(random[:]) // it never fails
	q.service, q.begun, q.ended = s, time.Now(), ctx.Done()
	q.table = rlqs.NewTable("rlqs/"+hex.EncodeToString(random[:]), uint64(time.Now().UnixNano()))
	q.streams = make(chan struct{}, rlqs.MaxStreams)
}

// warn logs a problem with quotas, at most once a minute.
func (q *quotas) warn(message string, args ...any) {
	now := int64(q.now())
	if last := q.warned.Load(); last != 0 && now < last+int64(time.Minute) || !q.warned.CompareAndSwap(last, now) {
		return
	}
	q.service.gateway.Log().Warn(message, args...)
}

func (q *quotas) measure() metrics.EnvoyQuotas {
	c := q.table.Counts()
	return metrics.EnvoyQuotas{Streams: int64(len(q.streams)), Buckets: int64(c.Buckets), Reports: c.Reports, Changes: c.Changed, Orphaned: c.Orphaned,
		Abandoned: c.Refused, Unanswered: q.unanswered.Load()}
}

// againEvery is the time between two attempts to give more to buckets that have too little.
const againEvery = time.Second

// mostSending is how long an assignment may wait for an Envoy that does not read. After a longer wait, its time to live
// would begin too late.
const mostSending = time.Second

// report is a message of an Envoy, or the error of reading it.
type report struct {
	at  time.Duration
	in  *quota.RateLimitQuotaUsageReports
	err error
}

// now is the time since the service began, on a monotonic clock.
func (q *quotas) now() time.Duration { return time.Since(q.begun) }

// StreamRateLimitQuotas implements [quota.RateLimitQuotaServiceServer].
func (q *quotas) StreamRateLimitQuotas(out quotaStream) error {
	select {
	case q.streams <- struct{}{}:
		defer func() { <-q.streams }()
	default:
		return status.Errorf(codes.ResourceExhausted, "%d streams of quotas are open, the maximum for one server", cap(q.streams))
	}
	ctx, cancel := context.WithCancel(out.Context())
	defer cancel()
	s := &quotaSession{quotas: q, conn: connOf(ctx), stream: q.table.NewStream(), out: out}
	defer s.stream.Cut()
	if _, err := login(ctx, s.conn); err != nil {
		return err
	}
	return s.serve(ctx, q.receive(ctx, out))
}

// quotaStream is the server's side of a stream.
type quotaStream = grpc.BidiStreamingServer[quota.RateLimitQuotaUsageReports, quota.RateLimitQuotaResponse]

// receive reads the messages of a stream until it ends. It reads the next message while one is being answered.
func (q *quotas) receive(ctx context.Context, in quotaStream) <-chan report {
	reports := make(chan report)
	go func() {
		for {
			m, err := in.Recv()
			select {
			case reports <- report{q.now(), m, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return reports
}

// quotaSession is one stream.
type quotaSession struct {
	quotas *quotas
	conn   *gateway.Conn
	stream *rlqs.Stream
	out    quotaStream
	domain string
	works  bool // an operation succeeded
	known  policyLimits
}

func (s *quotaSession) serve(ctx context.Context, reports <-chan report) error {
	again := time.NewTicker(againEvery)
	defer again.Stop()
	for {
		var err error
		select {
		case r := <-reports:
			switch {
			case errors.Is(r.err, io.EOF):
				return nil
			case r.err != nil:
				return r.err
			}
			err = s.answer(ctx, &r)
		case <-again.C:
			err = s.again(ctx)
		case <-ctx.Done(): // then receive sends nothing
			return ctx.Err()
		case <-s.quotas.ended:
			return status.Error(codes.Unavailable, "the server is shutting down: open the stream again, elsewhere if you can")
		}
		if err != nil {
			return err
		}
	}
}

// answer answers one message of an Envoy.
func (s *quotaSession) answer(ctx context.Context, r *report) error {
	caller, err := s.caller(ctx)
	if err != nil {
		return err
	}
	usages, err := s.usages(ctx, caller, r)
	if err != nil {
		return err
	}
	before := s.stream.Refused()
	operations := s.stream.Report(r.at, usages)
	if s.stream.Refused() > before {
		s.quotas.warn("a stream of quotas has more buckets than fit into a report, or this node has too many: Envoy forgets the rest and follows its no_assignment_behavior", "domain", s.domain, "client", caller.Address)
	}
	if err := s.carryOut(ctx, caller, operations); err != nil {
		return err
	}
	return s.assign(ctx, caller)
}

// again gives more tokens to buckets that wait for them, and returns free tokens to their home.
func (s *quotaSession) again(ctx context.Context) error {
	if !s.stream.Waits(s.quotas.now()) {
		return nil
	}
	caller, err := s.caller(ctx)
	if err != nil {
		return err
	}
	if err := s.carryOut(ctx, caller, s.stream.Waiting(s.quotas.now())); err != nil {
		return err
	}
	return s.assign(ctx, caller)
}

// caller returns the stream's user. It checks the password again, because streams last long.
func (s *quotaSession) caller(ctx context.Context) (gateway.Caller, error) {
	user, err := login(ctx, s.conn)
	return gateway.Caller{User: user, Address: s.conn.Address()}, err
}

// assign asks home for tokens, and sends the assignments.
func (s *quotaSession) assign(ctx context.Context, caller gateway.Caller) error {
	for range 2 { // twice, because the first time may repeat operations whose outcome was unknown
		if err := s.carryOut(ctx, caller, s.stream.Loans(s.quotas.now())); err != nil {
			return err
		}
	}
	all := s.stream.Assign(s.quotas.now())
	if len(all) == 0 {
		return nil
	}
	return s.send(quotaResponse(all))
}

// send sends a message, and returns an error if the Envoy does not read. gRPC's Send then still waits until the stream
// ends.
func (s *quotaSession) send(m *quota.RateLimitQuotaResponse) error {
	sent := make(chan error, 1)
	go func() { sent <- s.out.Send(m) }()
	late := time.NewTimer(mostSending)
	defer late.Stop()
	select {
	case err := <-sent:
		return err
	case <-late.C:
		return status.Errorf(codes.ResourceExhausted, "the stream was not read for %v: open it again", mostSending)
	}
}

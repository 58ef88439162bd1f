//go:build e2e

package rlqs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	wire "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	kind "github.com/envoyproxy/go-control-plane/envoy/type/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// realRules are a limit that is divided by rates, and one that is divided by tokens.
const realRules = `domain: shop
descriptors:
  - {key: fast, rate_limit: {unit: second, requests_per_unit: 200}}
  - {key: slow, rate_limit: {unit: minute, requests_per_unit: 600}}
`

var realLimits = map[string]Limit{"fast": {200, 200, time.Second}, "slow": {600, 600, time.Minute}}

// realEnvoys are filters with streams to server processes, in real time.
type realEnvoys struct {
	t     *testing.T
	ctx   context.Context
	begun time.Time

	mu        sync.Mutex
	addresses []string
	all       []*realEnvoy
	levels    map[string]float64 // of buckets that leak at the limits' rates, into which all grants go
	highest   map[string]float64
	reports   int
	paused    int
}

type realEnvoy struct {
	filter
	key    string
	stream wire.RateLimitQuotaService_StreamRateLimitQuotasClient
	cancel context.CancelFunc
	inbox  chan *wire.RateLimitQuotaResponse // closed when the stream ends
}

// The filters report more often than Envoy does, so that the test is short.
const realReports = Margin + 100*time.Millisecond

// longPause is the time without a step after which assignments are thrown away: they may have come later than the
// margin.
const longPause = Margin / 2

// run steps the filters until the context ends.
func (e *realEnvoys) run() {
	last := time.Since(e.begun)
	for range time.Tick(10 * time.Millisecond) {
		if e.ctx.Err() != nil {
			return
		}
		now := time.Since(e.begun)
		e.mu.Lock()
		for key, limit := range realLimits {
			e.levels[key] = max(0, e.levels[key]-limit.perSecond()*(now-last).Seconds())
		}
		for i, f := range e.all {
			if now-last > longPause {
				f.end()
				e.paused++
			}
			e.step(now, now-last, i, f)
		}
		e.mu.Unlock()
		last = now
	}
}

func (f *realEnvoy) end() {
	if f.stream != nil {
		f.cancel()
		f.stream = nil
	}
}

func (e *realEnvoys) step(now, span time.Duration, i int, f *realEnvoy) {
	for f.stream != nil {
		select {
		case in, open := <-f.inbox:
			if !open {
				f.end()
			}
			for _, a := range in.GetBucketAction() {
				f.receive(now, assignmentOf(a))
			}
			continue
		default:
		}
		break
	}
	for f.due += f.rate * span.Seconds(); f.due >= 1; f.due-- {
		if f.request(now) {
			e.levels[f.key]++
			e.highest[f.key] = max(e.highest[f.key], e.levels[f.key])
		}
	}
	if now < f.reports {
		return
	}
	f.reports = now + realReports
	if f.stream == nil && !e.open(f, e.addresses[(i+e.reports)%len(e.addresses)]) {
		return
	}
	usage := &wire.RateLimitQuotaUsageReports_BucketQuotaUsage{
		BucketId: &wire.BucketId{Bucket: map[string]string{f.key: "x"}}, TimeElapsed: durationpb.New(realReports),
		NumRequestsAllowed: uint64(f.allowed), NumRequestsDenied: uint64(f.denied),
	}
	f.allowed, f.denied = 0, 0
	if f.stream.Send(&wire.RateLimitQuotaUsageReports{Domain: "shop", BucketQuotaUsages: []*wire.RateLimitQuotaUsageReports_BucketQuotaUsage{usage}}) != nil {
		f.end()
	}
	e.reports++
}

// open begins a stream, whose messages come into a new inbox.
func (e *realEnvoys) open(f *realEnvoy, address string) bool {
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return false
	}
	ctx, cancel := context.WithCancel(e.ctx)
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	inbox := make(chan *wire.RateLimitQuotaResponse, 16)
	f.stream, err = wire.NewRateLimitQuotaServiceClient(conn).StreamRateLimitQuotas(ctx, grpc.WaitForReady(false))
	f.cancel, f.inbox = cancel, inbox
	if err != nil {
		cancel()
		f.stream = nil
		return false
	}
	go func(s wire.RateLimitQuotaService_StreamRateLimitQuotasClient) {
		defer close(inbox)
		for {
			in, err := s.Recv()
			if err != nil {
				return
			}
			select {
			case inbox <- in:
			case <-ctx.Done():
				return
			}
		}
	}(f.stream)
	return true
}

// assignmentOf reads what an Envoy is sent.
func assignmentOf(a *wire.RateLimitQuotaResponse_BucketAction) Assignment {
	if a.GetAbandonAction() != nil {
		return Assignment{Kind: Abandon}
	}
	strategy := a.GetQuotaAssignmentAction().GetRateLimitStrategy()
	b := strategy.GetTokenBucket()
	switch {
	case b != nil && b.GetFillInterval().AsDuration() > time.Hour: // so the bucket does not refill
		return Assignment{Kind: Bucket, Tokens: int64(b.GetMaxTokens())}
	case b != nil:
		return Assignment{Kind: Bucket, Tokens: int64(b.GetMaxTokens()), Units: int64(b.GetTokensPerFill().GetValue()), Interval: b.GetFillInterval().GetSeconds()}
	case strategy.GetBlanketRule() == kind.RateLimitStrategy_ALLOW_ALL:
		return Assignment{Kind: Allow}
	}
	return Assignment{Kind: Deny}
}

// await waits until so many reports were sent after now, and both limits granted more.
func (e *realEnvoys) await(what string, reports int) {
	e.t.Helper()
	sums := func() (sent int, granted map[string]int64) {
		e.mu.Lock()
		defer e.mu.Unlock()
		granted = map[string]int64{}
		for _, f := range e.all {
			granted[f.key] += f.granted
		}
		return e.reports, granted
	}
	sent, before := sums()
	testwait.Until(e.t, what, func() bool {
		now, granted := sums()
		return now >= sent+reports && granted["fast"] > before["fast"] && granted["slow"] > before["slow"]
	})
}

// listen has the filters use the nodes that run.
func (e *realEnvoys) listen(nodes []*testserver.Process) {
	var addresses []string
	for _, n := range nodes {
		if is, _ := n.Running(); is {
			addresses = append(addresses, n.Listening(e.t, "gRPC"))
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.addresses = addresses
}

// revive starts the nodes that do not run.
func (e *realEnvoys) revive(nodes []*testserver.Process) {
	for _, n := range nodes {
		if is, _ := n.Running(); !is {
			n.Start(e.t)
			n.AwaitFormed(e.t)
		}
	}
	e.listen(nodes)
}

// Envoys on three server processes grant no more than their limits in any interval, while a follower and a leader are
// killed, the leader changes, and the limits are lowered.
func TestQuotasOfProcesses(t *testing.T) {
	rules := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(rules, "shop.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(realRules)
	nodes := testserver.StartNodes(t, testserver.Build(t, filepath.Join("..", "..")), 3, "--grpc-listen", "127.0.0.1:0", "--rls-config", rules)
	ctx, cancel := context.WithCancel(t.Context())
	e := &realEnvoys{t: t, ctx: ctx, begun: time.Now(), levels: map[string]float64{}, highest: map[string]float64{}}
	for i := range 6 {
		for key := range realLimits {
			e.all = append(e.all, &realEnvoy{key: key, filter: filter{rate: 100 * float64(1+i%3), reports: time.Duration(i) * realReports / 6}})
		}
	}
	e.listen(nodes)
	var running sync.WaitGroup
	running.Go(e.run)
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
	leader := func(is bool) (one *testserver.Process) {
		testwait.Until(t, "a node leads, and others follow", func() bool {
			one = nil
			leads := 0
			for _, n := range nodes {
				if runs, _ := n.Running(); !runs {
					continue
				}
				l := n.Leads()
				if l {
					leads++
				}
				if l == is {
					one = n
				}
			}
			return one != nil && leads == 1
		})
		return one
	}
	kill := func(n *testserver.Process) {
		if err := n.End(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		e.listen(nodes)
	}
	rounds := 2 * len(e.all)
	e.await("all Envoys have buckets", rounds)
	kill(leader(false))
	e.await("Envoys go on without a follower", rounds)
	e.revive(nodes)
	old := leader(true)
	testwait.Until(t, "the leader hands over", old.HandOver)
	write(strings.NewReplacer("200}", "100}", "600}", "300}").Replace(realRules))
	e.await("Envoys go on after changes of the leader and of the limits", rounds)
	kill(leader(true))
	e.await("Envoys go on without the leader", rounds)
	e.revive(nodes)
	cancel()
	running.Wait()
	for key, limit := range realLimits {
		used := int64(0)
		for _, f := range e.all {
			if f.key == key {
				used += f.granted
			}
		}
		t.Logf("%s: %d granted in %v, at most %.1f beyond the rate of a capacity of %d; %d pauses", key, used, time.Since(e.begun).Round(time.Second), e.highest[key], limit.Capacity, e.paused)
		if e.highest[key] > float64(limit.Capacity)+1e-6 {
			t.Errorf("%s: %.1f granted beyond the rate", key, e.highest[key])
		}
	}
}

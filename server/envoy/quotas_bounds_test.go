package envoy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	quota "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The server serves as many streams as docs/security.md says. The next one is refused until one of them ends.
func TestQuotaStreamsAreBounded(t *testing.T) {
	const most, real = 1024, 16 // the others only occupy a place
	h := newHost(t, nil)
	places := h.Service.quotas.streams
	if cap(places) != most {
		t.Fatalf("%d streams have a place, want %d", cap(places), most)
	}
	for range most - real {
		places <- struct{}{}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ask := func(ctx context.Context) error {
		_, err := h.quotas(ctx).ask("shop", usageOf("free=1", 0, 1, 0))
		return err
	}
	for i := range real {
		if err := ask(ctx); err != nil {
			t.Fatalf("stream %d: %v", i+1, err)
		}
	}
	if err := ask(context.Background()); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one stream too many: %v", err)
	}
	cancel()
	h.eventually("their places are free", func() bool { return len(places) == most-real })
	if err := ask(context.Background()); err != nil {
		t.Error(err)
	}
}

// A stream ends, together with its buckets, if its Envoy does not read.
func TestUnreadAssignments(t *testing.T) {
	t.Parallel() // it waits
	h := newHost(t, nil)
	s := h.quotas(context.Background())
	var all []*quota.RateLimitQuotaUsageReports_BucketQuotaUsage
	for i := range 300 {
		all = append(all, usageOf(fmt.Sprintf("table=%d", i), 0, 1, 0))
	}
	if _, err := s.ask("shop", all...); err != nil {
		t.Fatal(err)
	}
	go func() {
		for s.Send(&quota.RateLimitQuotaUsageReports{Domain: "shop", BucketQuotaUsages: all}) == nil { // until the stream ends
		}
	}()
	h.eventually("the stream has ended", func() bool { return len(h.Service.quotas.streams) == 0 })
	for {
		if _, err := s.Recv(); err != nil { // the end comes after the answers
			if got := status.Convert(err); got.Code() != codes.ResourceExhausted || !strings.Contains(got.Message(), "the stream was not read for 1s") {
				t.Error(err)
			}
			return
		}
	}
}

// Different pairs have different ids, whatever bytes they are made of.
func TestIDsOfBucketsDiffer(t *testing.T) {
	seen := map[string]map[string]string{}
	for _, pairs := range []map[string]string{
		{"a\x00b": "c"}, {"a": "b\x00c"}, {"a": "b", "c": ""}, {"a": "", "b": "c"}, {"a": "b\x00c\x00"}, {"a\x01b": "c"}, {"a": "\x01b\x01c"}, {"a": "b", "c": "d"},
	} {
		id := idOf(pairs)
		if other := seen[id]; other != nil {
			t.Errorf("%q and %q have the same id", pairs, other)
		}
		seen[id] = pairs
	}
}

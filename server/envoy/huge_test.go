package envoy

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/stintdb/stint/server/rls"
)

// Amounts that no limit can have are refused. The largest possible amounts leave each limit used up, even if they are
// repeated, by Report, Commit and Envoy.
func TestHugeAmounts(t *testing.T) {
	for _, request := range []string{"shop kind=mail", "stint bucket=a", "stint window=a", "stint gcra=a", "stint plan=ann", "stint tenant=acme,plan=ann"} {
		h := newKuadrant(t)
		k, client, ctx := h.kuadrant(), h.client(), context.Background()
		for _, amount := range []uint64{rls.MaxHits + 1, 1<<63 - 1, 1 << 63, 1<<64 - 1} {
			in := parse(t, request)
			in.Descriptors[0].HitsAddend = wrapperspb.UInt64(amount)
			_, _, reserved := k.Reserve(ctx, parse(t, request), amount, time.Minute)
			_, committed := k.Commit(ctx, parse(t, request), strings.Repeat("0", 32), amount)
			_, reported := k.Report(ctx, in)
			_, asked := client.ShouldRateLimit(ctx, in)
			for _, err := range []error{reserved, committed, reported, asked} {
				if status.Code(err) != codes.InvalidArgument {
					t.Errorf("%s, %d: %v", request, amount, err)
				}
			}
		}
		if code, _, err := k.Reserve(ctx, parse(t, request), rls.MaxHits, time.Minute); err != nil || code.String() != "OVER_LIMIT" {
			t.Errorf("%s: %v %v", request, code, err)
		}
		for _, amount := range []uint64{rls.MaxHits, 1e9, 1e6} { // the larger ones are refused where they would be a debt of centuries
			in := parse(t, request)
			in.Descriptors[0].HitsAddend = wrapperspb.UInt64(amount)
			for range 20 {
				_, committed := k.Commit(ctx, parse(t, request), h.reserve(request, 1, time.Minute), amount)
				_, reported := k.Report(ctx, in)
				_, asked := client.ShouldRateLimit(ctx, in)
				for _, err := range []error{committed, reported, asked} {
					if err != nil && !strings.Contains(err.Error(), "further in debt than can be kept") {
						t.Fatalf("%s, %d: %v", request, amount, err)
					}
				}
			}
		}
		if got := h.left(request); !strings.HasPrefix(got, "OVER_LIMIT | OVER_LIMIT 0/") || strings.Contains(got, "-") {
			t.Errorf("%s: %s", request, got)
		}
	}
}

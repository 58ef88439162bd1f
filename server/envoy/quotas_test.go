package envoy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	quota "github.com/envoyproxy/go-control-plane/envoy/service/rate_limit_quota/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/resp"
)

// envoyStream is an Envoy's side of a stream.
type envoyStream struct {
	*host
	grpc.BidiStreamingClient[quota.RateLimitQuotaUsageReports, quota.RateLimitQuotaResponse]
}

func (h *host) quotas(ctx context.Context) *envoyStream {
	h.Helper()
	s, err := quota.NewRateLimitQuotaServiceClient(h.dial()).StreamRateLimitQuotas(ctx)
	if err != nil {
		h.Fatal(err)
	}
	return &envoyStream{h, s}
}

// usageOf parses KEY=VALUE,KEY=VALUE.
func usageOf(id string, seconds int64, allowed, denied uint64) *quota.RateLimitQuotaUsageReports_BucketQuotaUsage {
	u := &quota.RateLimitQuotaUsageReports_BucketQuotaUsage{BucketId: &quota.BucketId{Bucket: map[string]string{}}, TimeElapsed: &durationpb.Duration{Seconds: seconds},
		NumRequestsAllowed: allowed, NumRequestsDenied: denied}
	for _, pair := range strings.Split(id, ",") {
		key, value, _ := strings.Cut(pair, "=")
		u.BucketId.Bucket[key] = value
	}
	return u
}

// ask sends a report, and returns the answer as text.
func (s *envoyStream) ask(domain string, all ...*quota.RateLimitQuotaUsageReports_BucketQuotaUsage) (answer string, err error) {
	s.Helper()
	if err := s.Send(&quota.RateLimitQuotaUsageReports{Domain: domain, BucketQuotaUsages: all}); err != nil && !errors.Is(err, io.EOF) { // the stream has ended: Recv has the reason
		s.Fatal(err)
	}
	out, err := s.Recv()
	if err != nil {
		return "", err
	}
	var words []string
	for _, a := range out.GetBucketAction() {
		words = append(words, showAction(a))
	}
	return strings.Join(words, " | "), nil
}

func showAction(a *quota.RateLimitQuotaResponse_BucketAction) string {
	if a.GetAbandonAction() != nil {
		return "abandon"
	}
	strategy := a.GetQuotaAssignmentAction().GetRateLimitStrategy()
	if bucket := strategy.GetTokenBucket(); bucket != nil {
		return fmt.Sprintf("%d, %d/%ds", bucket.GetMaxTokens(), bucket.GetTokensPerFill().GetValue(), bucket.GetFillInterval().GetSeconds())
	}
	return strategy.GetBlanketRule().String()
}

// A bucket's limit comes from the rule that its pairs find in any order. An unchanged assignment is refreshed by an
// equal one.
func TestQuotas(t *testing.T) {
	h := newHost(t, nil)
	h.do("RL.POLICY SET plans TB plan:{} 800 100/s")
	s := h.quotas(context.Background())
	for _, step := range []struct{ domain, id, want string }{
		{"shop", "table=orders", "DENY_ALL | 1, 143/60s"},
		{"shop", "to=x,kind=mail", "DENY_ALL | 1, 1/31536000s"},
		{"shop", "free=1", "ALLOW_ALL"},
		{"shop", "banned=1", "DENY_ALL"},
		{"shop", "trial=1", "ALLOW_ALL"},
		{"shop", "nobody=1", "ALLOW_ALL"},
		{"nobody", "a=b", "ALLOW_ALL"},
		{"stint", "plan=ann", "DENY_ALL | 5, 2875/60s"},
		{"stint", "plan=", "DENY_ALL"},
	} {
		got, err := s.ask(step.domain, usageOf(step.id, 0, 1, 0))
		if err != nil || got != step.want {
			t.Errorf("%s %s: %q, %v, want %q", step.domain, step.id, got, err, step.want)
		}
	}
	got, err := s.ask("stint", usageOf("plan=ann", 0, 0, 0))
	if want := "5, 2875/60s"; err != nil || got != want {
		t.Errorf("again: %q, %v, want %q", got, err, want)
	}
	if m := h.server.MetricsSnapshot().Envoy.Quotas; m.Streams != 1 || m.Buckets != 3 || m.Reports != 10 || m.Changes != 3 {
		t.Errorf("the metrics are %+v", m)
	}
}

// A changed limit replaces the old one at home, although tokens are still lent under the old one.
func TestChangedQuota(t *testing.T) {
	h := newHost(t, nil)
	h.do("RL.POLICY SET plans TB plan:{} 800 100/s")
	first, usage := h.quotas(context.Background()), usageOf("plan=ann", 0, 1, 0)
	if _, err := first.ask("stint", usage); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int64{80, 900} {
		h.do(fmt.Sprintf("RL.POLICY SET plans TB plan:{} %d 10/s", limit))
		if _, err := h.quotas(context.Background()).ask("stint", usage); err != nil { // this stream looks the policy up, and the first one does not
			t.Fatal(err)
		}
		if got := resp.Elements(h.do("RL.LEND rls.stint:plan=ann|tokens TB 1 1/s 1 nobody 1 0"))[1].Int(); got != limit {
			t.Errorf("the limit at home is %d, want %d", got, limit)
		}
		if _, err := first.ask("stint", usage); err != nil {
			t.Fatal(err)
		}
	}
	if lent := resp.Elements(h.do("RL.LENT rls.stint:plan=ann|tokens")); len(lent) != 1 {
		t.Errorf("%v is lent", lent)
	}
}

// Streams share a limit: all together have at most its tokens.
func TestQuotasAreShared(t *testing.T) {
	h := newHost(t, nil)
	tokens := 0
	for i := range 8 {
		got, err := h.quotas(context.Background()).ask("shop", usageOf("kind=mail", 0, 1, 0))
		if err != nil {
			t.Fatal(err)
		}
		n, rate := 0, 0
		if _, err := fmt.Sscanf(got, "DENY_ALL | %d, %d/31536000s", &n, &rate); err != nil && got != "DENY_ALL" {
			t.Errorf("stream %d: %s", i, got)
		}
		tokens += n
	}
	if tokens == 0 || tokens > 3 {
		t.Errorf("8 streams have %d tokens of 3 a day", tokens)
	}
}

// A stream without permission, or with reports that make no sense, ends with the reason.
func TestQuotaErrors(t *testing.T) {
	h := newHost(t, func(_ *config.Config, o *server.Options) {
		users, err := acl.New(acl.Settings{LogLength: 10})
		if err != nil {
			t.Fatal(err)
		}
		for name, rules := range map[string]string{
			"default": "reset >open:sesame", "envoy": "on >secret ~rls.* +rl.lend +rl.return", "reader": "on >secret ~rls.* +rl.lent", "other": "on >secret ~other +rl.lend",
		} {
			if err := users.Set(name, strings.Fields(rules)); err != nil {
				t.Fatal(err)
			}
		}
		o.Users = users
	})
	for _, step := range []struct {
		ctx              context.Context
		domain, id, says string
		code             codes.Code
	}{
		{context.Background(), "shop", "table=orders", "send a password in the metadata", codes.Unauthenticated},
		{bearer("Bearer envoy:wrong"), "shop", "table=orders", "the password is wrong", codes.Unauthenticated},
		{bearer("Bearer reader:secret"), "shop", "table=orders", "no permissions to run the 'rl.lend' command", codes.PermissionDenied},
		{bearer("Bearer other:secret"), "shop", "table=orders", "No permissions to access a key", codes.PermissionDenied},
		{bearer("Bearer envoy:secret"), "", "table=orders", "the first report has no domain", codes.InvalidArgument},
		{bearer("Bearer envoy:secret"), "shop", "", "a bucket has no id", codes.InvalidArgument},
	} {
		usage := usageOf("table=orders", 0, 1, 0)
		if step.id == "" {
			usage.BucketId = nil
		}
		_, err := h.quotas(step.ctx).ask(step.domain, usage)
		if got := status.Convert(err); got.Code() != step.code || !strings.Contains(got.Message(), step.says) {
			t.Errorf("%s %q, want %s %q", got.Code(), got.Message(), step.code, step.says)
		}
	}
	if _, err := h.quotas(bearer("Bearer envoy:secret")).ask("shop", usageOf("table=orders", 0, 1, 0)); err != nil {
		t.Error(err)
	}
}

// Buckets beyond the limits are abandoned, and impossible counts do no harm.
func TestQuotaBounds(t *testing.T) {
	h := newHost(t, nil)
	s := h.quotas(context.Background())
	var all []*quota.RateLimitQuotaUsageReports_BucketQuotaUsage
	for i := range 600 {
		all = append(all, usageOf(fmt.Sprintf("table=%030d", i), 0, 1<<64-1, 1<<64-1))
	}
	got, err := s.ask("shop", all...)
	words := strings.Split(got, " | ")
	abandoned := len(slices.DeleteFunc(words, func(w string) bool { return w != "abandon" }))
	if err != nil || abandoned == 0 || abandoned > 300 {
		t.Errorf("%d of 600 buckets are abandoned, %v", abandoned, err)
	}
	if m := h.server.MetricsSnapshot().Envoy.Quotas; m.Abandoned != int64(abandoned) || m.Buckets != int64(600-abandoned) {
		t.Errorf("the metrics are %+v", m)
	}
	long := usageOf("table="+strings.Repeat("x", 5000), 0, 1, 0)
	if got, err := s.ask("shop", long, usageOf("free=1", 0, 1, 0)); err != nil || got != "abandon | ALLOW_ALL" {
		t.Errorf("a bucket with too long an id, and another: %q, %v", got, err)
	}
	for _, id := range []string{"table=" + strings.Repeat("x", 5000), "table=" + strings.Repeat("x", 60_000), "free=" + strings.Repeat("x", 60_000)} {
		if got, err := h.quotas(context.Background()).ask("shop", usageOf(id, 0, 1, 0)); err != nil || got != "abandon" {
			t.Errorf("a bucket with an id of %d bytes: %q, %v", len(id), got, err)
		}
	}
}

// Streams end with the server, and do not delay its end.
func TestQuotasEndWithTheServer(t *testing.T) {
	h := newHost(t, nil)
	s := h.quotas(context.Background())
	if _, err := s.ask("shop", usageOf("table=orders", 0, 1, 0)); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- h.stop() }()
	if _, err := s.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("the stream ends with %v", err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

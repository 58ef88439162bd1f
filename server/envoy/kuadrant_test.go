package envoy

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/stintdb/stint/internal/testkuadrant"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/acl"
	"github.com/stintdb/stint/server/config"
)

func (h *host) kuadrant() testkuadrant.Client { return testkuadrant.Client{ClientConn: h.dial()} }

// left returns the answer of CheckRateLimit, which takes nothing.
func (h *host) left(request string) string {
	h.Helper()
	out, err := h.kuadrant().Check(context.Background(), parse(h, request))
	if err != nil {
		h.Fatal(request, err)
	}
	return show(out)
}

func (h *host) expectLeft(request, want string) {
	h.Helper()
	if got := h.left(request); got != want {
		h.Errorf("%s: %s, want %s", request, got, want)
	}
}

// reserve reserves an amount. The id is "" if that is denied.
func (h *host) reserve(request string, amount uint64, ttl time.Duration) string {
	h.Helper()
	code, id, err := h.kuadrant().Reserve(context.Background(), parse(h, request), amount, ttl)
	if err != nil || (code == ratelimit.RateLimitResponse_OK) != (id != "") {
		h.Fatal(request, amount, code, id, err)
	}
	return id
}

func (h *host) commit(request, id string, amount uint64, want bool) {
	h.Helper()
	if released, err := h.kuadrant().Commit(context.Background(), parse(h, request), id, amount); err != nil || released != want {
		h.Fatal(request, id, amount, released, err)
	}
}

// A reservation that a quota of nothing denies takes nothing from the other limits.
func TestReservationDeniedByAQuotaOfNothing(t *testing.T) {
	h := newKuadrant(t)
	full := h.left("stint bucket=1")
	if id := h.reserve("stint quota-of-nothing=1 bucket=1", 2, time.Minute); id != "" {
		t.Error("it is granted")
	}
	h.expectLeft("stint bucket=1", full)
}

func newKuadrant(t *testing.T) *host {
	h := newHost(t, nil)
	h.do("RL.POLICY SET plans TB plan:{} 100 1/d")
	h.do("RL.POLICY SET fields TB {tenant}:{} 100 1/d")
	return h
}

// Each kind of limit has the right number of tokens left after each call. A check counts the token that it asks for as
// taken.
func TestKuadrant(t *testing.T) {
	for request, want := range map[string]struct{ before, reserved, committed, reported string }{
		"shop kind=mail":                 {"OK 2/3 DAY", "OK 0/3 DAY", "OK 1/3 DAY", "OVER_LIMIT 0/3 DAY"},
		"stint bucket=a":                 {"OK 1/2 MINUTE", "OVER_LIMIT 0/2 MINUTE", "OK 0/2 MINUTE", "OVER_LIMIT 0/2 MINUTE"},
		"stint window=a":                 {"OK 2/3 MINUTE", "OK 0/3 MINUTE", "OK 1/3 MINUTE", "OVER_LIMIT 0/3 MINUTE"},
		"stint gcra=a":                   {"OK 1/2 MINUTE", "OVER_LIMIT 0/2 MINUTE", "OK 0/2 MINUTE", "OVER_LIMIT 0/2 MINUTE"},
		"stint plan=ann":                 {"OK 99/100 UNKNOWN", "OK 97/100 UNKNOWN", "OK 98/100 UNKNOWN", "OK 88/100 UNKNOWN"},
		"stint tenant=acme,plan=ann":     {"OK 99/100 UNKNOWN", "OK 97/100 UNKNOWN", "OK 98/100 UNKNOWN", "OK 88/100 UNKNOWN"},
		"shop trial=1":                   {"OK 0/1 MINUTE", "OK 0/1 MINUTE", "OK 0/1 MINUTE", "OK 0/1 MINUTE"},
		"shop backend=a":                 {"OK 0/1 MINUTE", "OK 0/1 MINUTE", "OVER_LIMIT 0/1 MINUTE", "OVER_LIMIT 0/1 MINUTE"},
		"shop free=1":                    {"OK 4294967295", "OK 4294967295", "OK 4294967295", "OK 4294967295"},
		"nowhere a=b":                    {"OK 0", "OK 0", "OK 0", "OK 0"},
		"stint bucket=a bucket=a plan=b": {"OK 1/2 MINUTE", "OVER_LIMIT 0/2 MINUTE", "OVER_LIMIT 0/2 MINUTE", "OVER_LIMIT 0/2 MINUTE"},
	} {
		t.Run(request, func(t *testing.T) {
			h := newKuadrant(t)
			expect := func(when, want string) {
				t.Helper()
				if got := strings.Split(h.left(request), " | ")[1]; !strings.HasPrefix(got, want) {
					t.Errorf("%s: %s, want %s", when, got, want)
				}
			}
			expect("before", want.before)
			amount := uint64(2)
			if strings.Contains(request, "a bucket") { // the same twice
				amount = 1
			}
			id := h.reserve(request, amount, 0)
			if request == "shop backend=a" { // it asks for two, and there is one
				if id != "" {
					t.Error("granted")
				}
				h.commit(request, "", 1, false)
			} else {
				expect("reserved", want.reserved)
				h.commit(request, id, 1, !strings.Contains(request, "free") && !strings.Contains(request, "nowhere") && !strings.Contains(request, "trial"))
			}
			expect("committed", want.committed)
			out, err := h.kuadrant().Report(context.Background(), parse(t, request+" +10"))
			if err != nil || show(out) != "OK" {
				t.Error(out, err)
			}
			expect("reported", want.reported)
		})
	}
}

// If one of several limits denies a reservation, it takes nothing from the others.
func TestReserveIsAllOrNothing(t *testing.T) {
	h := newKuadrant(t)
	h.do("FW.ACQUIRE rls.shop:table=users 2 @1m 2")
	for _, request := range []string{"shop kind=mail table=users", "shop kind=mail banned=1", "shop table=items table=users backend=a", "shop backend=a backend=b table=users"} {
		if id := h.reserve(request, 1, 0); id != "" {
			t.Errorf("%s is granted", request)
		}
	}
	h.expectLeft("shop kind=mail table=items backend=a backend=b", "OK | OK 2/3 DAY 75335s | OK 1/2 MINUTE 35s | OK 0/1 MINUTE 35s | OK 1/2 MINUTE 35s")
}

// A commit with an id that is unknown, forgotten or already committed books the amount. Repeating a commit books
// nothing.
func TestCommitBooksAlways(t *testing.T) {
	h := newKuadrant(t)
	const request = "stint plan=ann"
	id := h.reserve(request, 50, time.Minute)
	h.commit(request, id, 10, true)
	h.commit(request, id, 10, true)
	h.expectLeft(request, "OK | OK 89/100 UNKNOWN 950400s plans")
	h.commit(request, id, 20, false)
	h.expectLeft(request, "OK | OK 69/100 UNKNOWN 2678400s plans")
	for _, id := range []string{"", "made up", strings.Repeat("0", 32), strings.Repeat("x", 5000)} {
		h.commit(request, id, 5, false)
	}
	h.expectLeft(request, "OK | OK 49/100 UNKNOWN 4406400s plans")
	h.commit(request, h.reserve(request, 10, time.Minute), 0, true)
	h.commit(request, strings.Repeat("0", 32), 0, false)
	h.expectLeft(request, "OK | OK 49/100 UNKNOWN 4406400s plans")
}

// A request that needs more than it has reserved reserves again, and commits each reservation.
func TestReserveAgain(t *testing.T) {
	h := newKuadrant(t)
	const request = "stint plan=ann"
	first, second := h.reserve(request, 50, time.Minute), h.reserve(request, 30, time.Minute)
	h.expectLeft(request, "OK | OK 19/100 UNKNOWN 6998400s plans")
	if third := h.reserve(request, 21, time.Minute); third != "" {
		t.Error("there are 20")
	}
	h.commit(request, first, 50, true)
	h.commit(request, second, 5, true)
	h.expectLeft(request, "OK | OK 44/100 UNKNOWN 4838400s plans")
}

// A reservation without a commit goes back after its time, and a commit after it books the amount.
func TestReservationEnds(t *testing.T) {
	h := newKuadrant(t)
	const request, free = "shop kind=mail", "OK | OK 2/3 DAY 75335s"
	id := h.reserve(request, 2, time.Millisecond)
	h.eventually("it goes back", func() bool { return h.left(request) == free })
	h.commit(request, id, 1, false)
	h.expectLeft(request, "OK | OK 1/3 DAY 75335s")
	if n := len(h.Service.kuadrant.held.byID); n != 0 {
		t.Errorf("%d reservations are waited for", n)
	}
	h.commit(request, h.reserve(request, 1, time.Hour), 1, true)
	if n := len(h.Service.kuadrant.held.byID); n != 0 {
		t.Errorf("%d reservations are waited for after the commit", n)
	}
}

// The memory of reservations whose end this server waits for is limited. Further reservations stay taken.
func TestHeldReservationsAreBounded(t *testing.T) {
	var e expiries
	const own = 1000
	for i := range maxHeldBytes / own {
		e.add(fmt.Sprint(i), own, time.Hour, func() { t.Error("called") })
	}
	if n := len(e.byID); n != maxHeldBytes/(own+heldBytes) || e.bytes > maxHeldBytes || e.remove("x") || !e.remove("1") || len(e.byID) != n-1 {
		t.Error(n, len(e.byID), e.bytes)
	}
	e.add("another", own, time.Hour, func() { t.Error("called") })
	if !e.remove("another") {
		t.Error("there is no room")
	}
	e.stop()
	e.add("1", own, 0, func() { t.Error("called after the end") })
	if len(e.byID) != 0 {
		t.Error(e.byID)
	}
}

// Requests that make no sense are refused, and say why.
func TestKuadrantErrors(t *testing.T) {
	h := newKuadrant(t)
	ctx, c, in := context.Background(), h.kuadrant(), parse(t, "shop kind=mail")
	expect := func(err error, says string) {
		t.Helper()
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
	_, _, err := c.Reserve(ctx, in, 1, -time.Second)
	expect(err, "its ttl is -1s; it must be more than 0 and at most 24h0m0s")
	_, _, err = c.Reserve(ctx, in, 1, 25*time.Hour)
	expect(err, "its ttl is 25h0m0s")
	_, _, err = c.Reserve(ctx, in, math.MaxUint64, time.Second)
	expect(err, "the amount must be at most 1000000000000, got 18446744073709551615")
	_, err = c.Commit(ctx, in, "", math.MaxUint64)
	expect(err, "got 18446744073709551615")
	_, _, err = c.Reserve(ctx, parse(t, "shop"), 1, time.Second)
	expect(err, "it has no descriptors")
	_, err = c.Commit(ctx, &ratelimit.RateLimitRequest{}, "", 1)
	expect(err, "its domain is empty")
	_, err = c.Report(ctx, parse(t, "shop"+strings.Repeat(" a=b", 65)))
	expect(err, "it has 65 descriptors")
	_, err = c.Check(ctx, parse(t, "shop kind="+strings.Repeat("x", 5000)))
	if err != nil {
		t.Error(err) // no rule is for it
	}
	_, err = c.Check(ctx, parse(t, "shop table="+strings.Repeat("x", 5000)))
	expect(err, "max-key-size")
	in.Descriptors[0].IsNegativeHits = true
	for _, call := range []func() error{
		func() error { _, err := c.Check(ctx, in); return err },
		func() error { _, err := c.Report(ctx, in); return err },
		func() error { _, _, err := c.Reserve(ctx, in, 1, time.Second); return err },
		func() error { _, err := c.Commit(ctx, in, "", 1); return err },
	} {
		expect(call(), "is_negative_hits")
	}
}

// Bytes that are not a message, and messages with fields of a later version, are refused.
func TestKuadrantHostileBytes(t *testing.T) {
	h := newKuadrant(t)
	c := h.dial()
	field := func(number protowire.Number, kind protowire.Type, rest ...byte) []byte {
		return append(protowire.AppendTag(nil, number, kind), rest...)
	}
	for name, b := range map[string][]byte{
		"no tag":                 {0xff},
		"a field of number 0":    {0},
		"an unknown field":       field(9, protowire.VarintType, 1),
		"a domain that is cut":   field(1, protowire.BytesType, 200),
		"a domain not in UTF-8":  field(1, protowire.BytesType, 1, 0xff),
		"a number for a domain":  field(1, protowire.VarintType, 1),
		"a descriptor of noise":  field(2, protowire.BytesType, 2, 0xff, 0xff),
		"a group":                field(2, protowire.StartGroupType),
		"a number that is cut":   append(field(3, protowire.VarintType), field(4, protowire.VarintType, 0xff)...),
		"a length beyond memory": field(2, protowire.BytesType, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
	} {
		in := new(emptypb.Empty)
		in.ProtoReflect().SetUnknown(b)
		for _, method := range []string{"Reserve", "Commit"} {
			if err := c.Invoke(context.Background(), "/"+kuadrantService+"/"+method, in, new(emptypb.Empty)); err == nil {
				t.Errorf("%s: %s takes it", name, method)
			}
		}
	}
	if h.reserve("shop kind=mail", 1, 0) == "" {
		t.Error("the next request is denied")
	}
}

// Each call is made as a user.
func TestKuadrantUsers(t *testing.T) {
	h := newHost(t, func(_ *config.Config, o *server.Options) {
		users, err := acl.New(acl.Settings{LogLength: 10})
		if err != nil {
			t.Fatal(err)
		}
		for name, rules := range map[string]string{"default": "reset >sesame", "checks": "on >secret ~rls.* +rl.all"} {
			if err := users.Set(name, strings.Fields(rules)); err != nil {
				t.Fatal(err)
			}
		}
		o.Users = users
	})
	c, in := h.kuadrant(), parse(t, "shop kind=mail")
	call := func(ctx context.Context) (all []codes.Code) {
		_, check := c.Check(ctx, in)
		_, report := c.Report(ctx, in)
		_, id, reserve := c.Reserve(ctx, in, 1, time.Minute)
		_, commit := c.Commit(ctx, in, id, 1)
		for _, err := range []error{check, report, reserve, commit} {
			all = append(all, status.Code(err))
		}
		return all
	}
	no, out := codes.Unauthenticated, codes.PermissionDenied
	if got := call(context.Background()); !slices.Equal(got, []codes.Code{no, no, no, no}) {
		t.Error(got)
	}
	if got := call(bearer("Bearer checks:secret")); !slices.Equal(got, []codes.Code{codes.OK, out, codes.OK, out}) {
		t.Error(got)
	}
}

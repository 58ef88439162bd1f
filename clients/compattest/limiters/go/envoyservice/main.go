// Program envoyservice sends random requests to envoyproxy/ratelimit, whose counts are in the Redis at the first address, and to
// the rate limit service at the second, with the same rules, and compares the answers.
package main

import (
	"context"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"time"

	common "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	pb "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/envoyproxy/ratelimit/src/config"
	"github.com/envoyproxy/ratelimit/src/provider"
	"github.com/envoyproxy/ratelimit/src/redis"
	ratelimit "github.com/envoyproxy/ratelimit/src/service"
	"github.com/envoyproxy/ratelimit/src/settings"
	"github.com/envoyproxy/ratelimit/src/stats"
	"github.com/envoyproxy/ratelimit/src/utils"
	gostats "github.com/lyft/gostats"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func main() {
	if len(os.Args) != 6 {
		fatal("usage: envoyservice REDIS GRPC DIRECTORY SEED REQUESTS")
	}
	seed, err := strconv.ParseInt(os.Args[4], 10, 64)
	check(err)
	count, err := strconv.Atoi(os.Args[5])
	check(err)
	theirs := newService(os.Args[1], os.Args[3])
	conn, err := grpc.NewClient(os.Args[2], grpc.WithTransportCredentials(insecure.NewCredentials()))
	check(err)
	ours := pb.NewRateLimitServiceClient(conn)
	random := rand.New(rand.NewSource(seed))
	denied := 0
	for n := range count {
		in := request(random)
		want, err := theirs.ShouldRateLimit(context.Background(), in)
		check(err)
		got, err := ours.ShouldRateLimit(context.Background(), in)
		check(err)
		if want.OverallCode == pb.RateLimitResponse_OVER_LIMIT {
			denied++
		}
		if difference := compare(in, want, got); difference != "" {
			fatal(fmt.Sprintf("request %d of seed %d: %s\nrequest %s\ntheirs %s\nours %s", n, seed, difference, show(in), show(want), show(got)))
		}
	}
	fmt.Printf("%d requests, %d denied: the same answers\n", count, denied)
}

// newService is envoyproxy/ratelimit with rules.
func newService(address, dir string) pb.RateLimitServiceServer {
	s := settings.NewSettings()
	s.RedisSocketType, s.RedisType, s.RedisUrl = "tcp", "SINGLE", address
	metrics := gostats.NewStore(gostats.NewNullSink(), false)
	manager := stats.NewStatManager(metrics, s)
	client := redis.NewClientImpl(metrics, false, "", "tcp", "SINGLE", address, 1, 0, 0, nil, false, nil, time.Second, "", "")
	cache := redis.NewFixedRateLimitCacheImpl(client, nil, utils.NewTimeSourceImpl(), rand.New(rand.NewSource(1)), 0, nil, 0.8, "", manager, false)
	var files []config.RateLimitConfigToLoad
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	check(err)
	for _, name := range names {
		text, err := os.ReadFile(name)
		check(err)
		files = append(files, config.RateLimitConfigToLoad{Name: name, ConfigYaml: config.ConfigFileContentToYaml(name, string(text))})
	}
	rules := &fixed{updates: make(chan provider.ConfigUpdateEvent, 1), rules: config.NewRateLimitConfigImpl(files, manager, false)}
	rules.updates <- rules
	return ratelimit.NewService(cache, rules, manager, nil, utils.NewTimeSourceImpl(), false, false, false)
}

// fixed provides rules once.
type fixed struct {
	updates chan provider.ConfigUpdateEvent
	rules   config.RateLimitConfig
}

func (f *fixed) ConfigUpdateEvent() <-chan provider.ConfigUpdateEvent { return f.updates }
func (f *fixed) Stop()                                                {}
func (f *fixed) GetConfig() (config.RateLimitConfig, any)             { return f.rules, nil }

// request returns a random request, mostly one that has rules.
func request(random *rand.Rand) *pb.RateLimitRequest {
	in := &pb.RateLimitRequest{Domain: "diff"}
	if random.Intn(50) == 0 {
		in.Domain = "unknown"
	}
	if random.Intn(3) == 0 {
		in.HitsAddend = uint32(random.Intn(4))
	}
	seen := map[string]bool{}
	for range 1 + random.Intn(3) {
		d := &common.RateLimitDescriptor{}
		for range 1 + random.Intn(2) {
			key := string(rune('a' + random.Intn(6)))
			value := strconv.Itoa(random.Intn(4))
			if key == "d" {
				value = []string{"x", "x1", "x2", "y1", "y2", "z"}[random.Intn(6)]
			}
			d.Entries = append(d.Entries, &common.RateLimitDescriptor_Entry{Key: key, Value: value})
		}
		if random.Intn(4) == 0 {
			d.HitsAddend = wrapperspb.UInt64(uint64(random.Intn(5)))
		}
		if name := fmt.Sprint(d.Entries); !seen[name] {
			seen[name] = true
			in.Descriptors = append(in.Descriptors, d)
		}
	}
	return in
}

// compare returns the first difference but those that docs/envoy.md names.
func compare(in *pb.RateLimitRequest, want, got *pb.RateLimitResponse) string {
	if len(want.Statuses) != len(got.Statuses) {
		return "number of statuses"
	}
	exempt := false
	for i, w := range want.Statuses {
		g := got.Statuses[i]
		asksOnly := in.Descriptors[i].HitsAddend != nil && in.Descriptors[i].HitsAddend.Value == 0
		if asksOnly && w.Code == pb.RateLimitResponse_OK && g.Code == pb.RateLimitResponse_OVER_LIMIT && w.LimitRemaining == 0 {
			exempt = true
		} else if w.Code != g.Code {
			return fmt.Sprintf("code of descriptor %d", i)
		}
		if w.LimitRemaining != g.LimitRemaining {
			return fmt.Sprintf("limit_remaining of descriptor %d", i)
		}
		if !proto.Equal(w.CurrentLimit, g.CurrentLimit) {
			return fmt.Sprintf("current_limit of descriptor %d", i)
		}
		if (w.DurationUntilReset == nil) != (g.DurationUntilReset == nil) {
			return fmt.Sprintf("duration_until_reset of descriptor %d", i)
		}
		if apart := w.DurationUntilReset.GetSeconds() - g.DurationUntilReset.GetSeconds(); apart < -2 || apart > 2 { // they were not asked at one time
			return fmt.Sprintf("duration_until_reset of descriptor %d", i)
		}
	}
	if want.OverallCode != got.OverallCode && !exempt {
		return "overall_code"
	}
	return ""
}

func show(m proto.Message) string { return protojson.MarshalOptions{}.Format(m) }

func check(err error) {
	if err != nil {
		fatal(err.Error())
	}
}

func fatal(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(1)
}

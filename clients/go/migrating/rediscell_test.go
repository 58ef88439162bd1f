package migrating

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
	"github.com/stintdb/stint/clients/go/internal/testprocess"
)

func redisCellBefore(ctx context.Context, rdb *redis.Client, user string) (bool, time.Duration, error) {
	reply, err := rdb.Do(ctx, "CL.THROTTLE", "user:"+user, 4, 10, 3600).Int64Slice()
	if err != nil {
		return false, 0, err
	}
	return reply[0] == 0, time.Duration(reply[3]) * time.Second, nil
}

func redisCellAfter(ctx context.Context, user string) (bool, time.Duration, error) {
	result, err := limiter.Allow(ctx, "user:"+user, stint.GCRA(4, 10, time.Hour))
	return result.Allowed, result.RetryAfter, err
}

// startCell builds the redis-cell module with cargo and starts a Redis with it.
func startCell(t *testing.T) *redis.Client {
	target := filepath.Join(t.TempDir(), "target")
	build := exec.CommandContext(t.Context(), "cargo", "rustc", "--quiet", "--release", "--locked", "-p", "redis-cell", "--crate-type", "cdylib", "--target-dir", target)
	build.Dir = "redis-cell"
	testprocess.EndWithParent(build)
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, output)
	}
	modules, _ := filepath.Glob(filepath.Join(target, "release", "deps", "libredis_cell*.so"))
	if len(modules) == 0 {
		modules, _ = filepath.Glob(filepath.Join(target, "release", "libredis_cell*.so"))
	}
	if len(modules) == 0 {
		t.Fatal("cargo built no libredis_cell.so")
	}
	server, err := servertest.StartRedis("--loadmodule", modules[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Kill)
	client := redis.NewClient(&redis.Options{Addr: server.Address})
	t.Cleanup(func() { client.Close() })
	return client
}

// TestRedisCell: the two functions of the page answer alike, and so do both servers to random requests.
func TestRedisCell(t *testing.T) {
	cell := startCell(t)
	for i := range 8 {
		allowed, retry, err := redisCellBefore(t.Context(), cell, "cell page")
		if err != nil {
			t.Fatal(err)
		}
		gotAllowed, gotRetry, err := redisCellAfter(t.Context(), "cell page")
		if err != nil || gotAllowed != allowed || !near(gotRetry, max(0, retry)) {
			t.Errorf("request %d: %v %v, %v; redis-cell: %v %v", i, gotAllowed, gotRetry, err, allowed, retry)
		}
	}
	random := rand.New(rand.NewPCG(4, 4))
	for range 20 {
		burst, count := random.Int64N(30), 1+random.Int64N(20)
		key := fmt.Sprint(t.Name(), burst, " ", count)
		for range 30 {
			n := 1 + random.Int64N(burst+2)
			want, err := cell.Do(t.Context(), "CL.THROTTLE", key, burst, count, 3_600_000, n).Int64Slice()
			if err != nil {
				t.Fatal(err)
			}
			got, err := limiter.AllowN(t.Context(), key, stint.GCRA(burst, count, 1000*time.Hour), n)
			if err != nil || got.Allowed != (want[0] == 0) || got.Limit != want[1] || got.Remaining != want[2] || !near(got.ResetAfter, time.Duration(want[4])*time.Second) {
				t.Errorf("burst %d, %d tokens: %+v, %v; redis-cell: %v", burst, n, got, err, want)
			}
			if !got.Allowed && !near(got.RetryAfter, time.Duration(want[3])*time.Second) && (got.RetryAfter != stint.Never || want[3] != -1) {
				t.Errorf("burst %d, %d tokens: retry after %v; redis-cell: %v", burst, n, got.RetryAfter, want)
			}
		}
	}
}

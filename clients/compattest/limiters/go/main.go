// Command limiters limits calls with one library, the way its users do:
//
//	limiters PROGRAM ADDRESS
//	limiters redis_rate ADDRESS,ADDRESS,... CALLS SECONDS
//
// It prints "uses LIBRARY VERSION". For each line "KEY CALLS" of its standard input it then makes that many calls with a new
// limiter and prints "passed N" with the number that passed, or "failed" and the reason.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A call reports whether the limit lets it pass.
type call func() (bool, error)

// A program limits calls with the library of a module.
type program struct {
	module string
	open   func(address, key string) (call, error) // makes the limiter of a key
}

var programs = map[string]program{
	"envoy":          {"github.com/envoyproxy/ratelimit", envoy},
	"fiber":          {"github.com/gofiber/storage/redis/v3", fiberLimiter},
	"gin-rate-limit": {"github.com/JGLTechnologies/gin-rate-limit", ginRateLimit},
	"go-zero-period": {"github.com/zeromicro/go-zero", goZeroPeriod},
	"go-zero-token":  {"github.com/zeromicro/go-zero", goZeroToken},
	"redis_rate":     {"github.com/go-redis/redis_rate/v10", redisRate},
	"rueidis-gcra":   {"github.com/redis/rueidis", rueidisGCRA},
	"rueidis-increx": {"github.com/redis/rueidis", rueidisIncrex},
	"throttled":      {"github.com/throttled/throttled/v2", throttledGCRA},
	"ulule":          {"github.com/ulule/limiter/v3", ulule},

	"token_bucket_seconds.lua":      pasted("token_bucket_seconds.lua", perSecond),
	"token_bucket_milliseconds.lua": pasted("token_bucket_milliseconds.lua", perSecond),
	"leaky_bucket.lua":              pasted("leaky_bucket.lua", perSecond),
	"fixed_window.lua":              pasted("fixed_window.lua", inWindow),
	"zset_pipeline":                 {"github.com/redis/go-redis/v9", zsetPipeline},
	"gcra.lua":                      pasted("gcra.lua", perSecond),
	"sliding_window_counter.lua":    pasted("sliding_window_counter.lua", inWindow),
}

func main() {
	name, address := os.Args[1], os.Args[2]
	p, ok := programs[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "there is no program %q\n", name)
		os.Exit(2)
	}
	fmt.Println("uses", p.module, version(p.module))
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var key string
		var calls int
		fmt.Sscan(lines.Text(), &key, &calls)
		if passed, err := p.run(address, key, calls); err != nil {
			fmt.Println("failed", strings.ReplaceAll(err.Error(), "\n", " "))
		} else {
			fmt.Println("passed", passed)
		}
	}
}

// run returns the number of calls that passed.
func (p program) run(address, key string, calls int) (passed int, err error) {
	defer func() {
		if r := recover(); r != nil { // libraries that panic when the server answers with an error
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	call, err := p.open(address, key)
	for i := 0; err == nil && i < calls; i++ {
		var ok bool
		if ok, err = call(); ok {
			passed++
		}
	}
	return passed, err
}

func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	for _, m := range info.Deps {
		if m.Path == module {
			return m.Version
		}
	}
	return "unknown"
}

// granted reports whether an HTTP status is that of a page and not of a denial.
func granted(status int) (bool, error) {
	if status != 200 && status != 429 {
		return false, fmt.Errorf("HTTP %d", status)
	}
	return status == 200, nil
}

// patience is longer than a busy machine takes for a reply: after the usual three seconds go-redis would send a command again.
const patience = time.Minute

func goRedis(address string) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: address, ReadTimeout: patience})
}

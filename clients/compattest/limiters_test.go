//go:build e2e

package compattest

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

var onRedis = flag.Bool("redis", false, "run the limiter libraries on redis-server, where all of them must work")

// limiters are programs of one language that limit calls with libraries made for Redis and Lua.
type limiters struct {
	suite
	language string // as docs/migrate/redis.md calls it
	programs []limiter
}

// A limiter is a program and its arguments. One that works on Stint must go on doing so.
type limiter struct {
	program string
	works   bool
	newer   bool // its commands are newer than Redis 7.0
	inexact bool // on Redis too, two calls at once can count as one: the library reads, then writes, or distinguishes calls by their time
}

// Folders of Python's programs. Pip is run as a module, because its program contains the path of the checkout that made the folder, and
// .ci/run keeps the folder for others.
const (
	inPython            = "../../build/limiters/python"
	olderFastAPILimiter = "../../build/limiters/fastapi-limiter-0.1.6"
)

// allLimiters is the only list of these programs. Their versions are pinned in the files of their folders.
var allLimiters = []limiters{
	{
		suite{
			folder:  "limiters/node",
			tools:   map[string]string{"node": "Node.js 20 or later", "npm": "npm, which comes with Node.js"},
			prepare: []step{{command: []string{"npm", "ci", "--prefer-offline", "--no-audit", "--no-fund"}}},
			run:     []string{"node"},
		},
		"Node.js",
		[]limiter{
			{program: "async-ratelimiter.mjs", works: true, inexact: true},
			{program: "bottleneck.mjs", works: true},
			{program: "bullmq.mjs", works: true},
			{program: "express-rate-limit.mjs", works: true},
			{program: "fastify-rate-limit.mjs", works: true},
			{program: "hono-rate-limiter.mjs", works: true},
			{program: "koa-ratelimit.mjs", works: true, inexact: true},
			{program: "nestjs-throttler.mjs @nest-lab/throttler-storage-redis", works: true},
			{program: "nestjs-throttler.mjs nestjs-throttler-storage-redis", works: true},
			{program: "rate-limiter-flexible.mjs ioredis", works: true},
			{program: "rate-limiter-flexible.mjs node-redis", works: true},
			{program: "ratelimiter.mjs", works: true, inexact: true},
			{program: "redis-gcra.mjs", works: true},
			{program: "redis-rate-limiter.mjs", works: true},
			{program: "redis-semaphore.mjs", works: true},
			{program: "rolling-rate-limiter.mjs", works: true},
		},
	},
	{
		suite{
			folder: "limiters/python",
			tools:  map[string]string{"python3": "Python 3.11 or later with its venv module"},
			prepare: []step{
				{unless: inPython + "/bin/python", command: []string{"python3", "-m", "venv", inPython}},
				{command: []string{inPython + "/bin/python", "-m", "pip", "install", "--quiet", "--requirement", "requirements.txt", "--constraint", "constraints.txt"}},
				{
					unless:  olderFastAPILimiter,
					command: []string{inPython + "/bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--target", olderFastAPILimiter, "fastapi-limiter==0.1.6"},
				},
			},
			run: []string{inPython + "/bin/python", "-m"},
		},
		"Python",
		[]limiter{
			{program: "programs.asgi_ratelimit fixed", works: true},
			{program: "programs.asgi_ratelimit sliding", works: true, inexact: true},
			{program: "programs.cashews fixed", works: true},
			{program: "programs.cashews sliding", works: true, inexact: true},
			{program: "programs.django_ratelimit django", works: true},
			{program: "programs.django_ratelimit django-redis", works: true},
			{program: "programs.dramatiq bucket", works: true},
			{program: "programs.dramatiq concurrent", works: true},
			{program: "programs.dramatiq window", works: true},
			{program: "programs.fastapi_limiter", works: true, inexact: true},
			{program: "programs.fastapi_limiter_0_1 " + olderFastAPILimiter, works: true},
			{program: "programs.fastapi_redis_sdk", works: true, newer: true},
			{program: "programs.flask_limiter", works: true},
			{program: "programs.limits fixed-window", works: true},
			{program: "programs.limits moving-window", works: true},
			{program: "programs.limits sliding-window-counter", works: true},
			{program: "programs.limits_aio", works: true},
			{program: "programs.litestar", works: true, inexact: true},
			{program: "programs.pyrate_limiter", works: true, inexact: true},
			{program: "programs.quart_rate_limiter", works: true, inexact: true},
			{program: "programs.redis_lock", works: true},
			{program: "programs.rest_framework", works: true, inexact: true},
			{program: "programs.rq", works: true},
			{program: "programs.slowapi", works: true},
			{program: "programs.throttled_py fixed_window", works: true},
			{program: "programs.throttled_py sliding_window", works: true},
			{program: "programs.throttled_py token_bucket", works: true},
			{program: "programs.throttled_py leaking_bucket", works: true},
			{program: "programs.throttled_py gcra", works: true},
			{program: "programs.walrus", works: true, inexact: true},
		},
	},
	{
		suite{
			folder:  "limiters/go",
			prepare: []step{{command: []string{"go", "build", "-o", "../../build/limiters/go", "."}}},
			run:     []string{"../../build/limiters/go"},
		},
		"Go",
		[]limiter{
			{program: "envoy", works: true},
			{program: "fiber", works: true, inexact: true},
			{program: "gin-rate-limit", works: true, inexact: true},
			{program: "go-zero-period", works: true},
			{program: "go-zero-token", works: true},
			{program: "redis_rate", works: true},
			{program: "rueidis-gcra", works: true, newer: true},
			{program: "rueidis-increx", works: true, newer: true},
			{program: "throttled", works: true},
			{program: "ulule", works: true},
			{program: "fixed_window.lua", works: true},
			{program: "gcra.lua", works: true},
			{program: "leaky_bucket.lua", works: true},
			{program: "sliding_window_counter.lua", works: true},
			{program: "token_bucket_milliseconds.lua", works: true},
			{program: "token_bucket_seconds.lua", works: true},
			{program: "zset_pipeline", works: true, inexact: true},
		},
	},
	{
		suite{
			folder:  "limiters/java",
			tools:   map[string]string{"mvn": "Maven 3.8 or later", "javac": "a JDK, version 17 or later"},
			prepare: []step{{command: []string{"mvn", "--quiet", "--batch-mode", "process-classes"}}},
			run:     []string{"java", "-classpath", "../../build/limiters/java/classes:../../build/limiters/java/libraries/*"},
		},
		"Java",
		[]limiter{
			{program: "Bucket4jProgram", works: true},
			{program: "JedisProgram", works: true, newer: true},
			{program: "RedissonGcraProgram", works: true, newer: true},
			{program: "RedissonProgram", works: true},
			{program: "SpringCloudGatewayProgram", works: true},
		},
	},
	{
		suite{
			folder: "limiters/php",
			tools:  map[string]string{"php": "Debian's php-cli"},
			debian: true,
			run:    []string{"php"},
		},
		"PHP",
		[]limiter{
			{program: "illuminate_cache.php phpredis", works: true, inexact: true},
			{program: "illuminate_cache.php predis", works: true, inexact: true},
			{program: "illuminate_redis.php phpredis funnel", works: true},
			{program: "illuminate_redis.php phpredis throttle", works: true},
			{program: "illuminate_redis.php predis funnel", works: true},
			{program: "illuminate_redis.php predis throttle", works: true},
			{program: "illuminate_routing.php phpredis", works: true},
			{program: "illuminate_routing.php predis", works: true},
			{program: "phpredis.php", works: true},
			{program: "predis.php", works: true},
			{program: "symfony_rate_limiter.php Redis fixed_window", works: true},
			{program: "symfony_rate_limiter.php Redis sliding_window", works: true},
			{program: "symfony_rate_limiter.php Redis token_bucket", works: true},
			{program: "symfony_rate_limiter.php Predis\\Client fixed_window", works: true},
			{program: "symfony_semaphore.php Redis", works: true},
			{program: "symfony_semaphore.php Predis\\Client", works: true},
		},
	},
	{
		suite{
			folder: "limiters/ruby",
			tools:  map[string]string{"ruby": "Debian's ruby"},
			debian: true,
			run:    []string{"ruby"},
		},
		"Ruby",
		[]limiter{
			{program: "rack_attack.rb Redis", works: true},
			{program: "rack_attack.rb Redis::Store", works: true},
			{program: "rack_attack.rb RedisCacheStore", works: true, inexact: true},
			{program: "redis_namespace.rb", works: true},
			{program: "redis_rb.rb", works: true},
			{program: "sidekiq.rb", works: true},
		},
	},
}

// TestLimiters fails if a program that works no longer does, and reports those that work and are not known to.
func TestLimiters(t *testing.T) {
	neverCached(t)
	var address string
	if *onRedis {
		address = startRedis(t)
	} else {
		address = testserver.Start(t, testserver.Build(t, filepath.Join("..", "..")))
	}
	for _, l := range allLimiters {
		t.Run(filepath.Base(l.folder), func(t *testing.T) {
			t.Parallel()
			l.test(t, address)
		})
	}
}

// sideBySide has room for the programs that run at the same time. Most of their time they wait for a limit to come back.
var sideBySide = make(chan bool, 8)

func (l limiters) test(t *testing.T, address string) {
	l.install(t)
	results := make([]string, len(l.programs))
	errs := make([]error, len(l.programs))
	var running sync.WaitGroup
	for i, p := range l.programs {
		running.Go(func() {
			sideBySide <- true
			defer func() { <-sideBySide }()
			args := strings.Fields(p.program)
			command := append(append(l.run[:len(l.run):len(l.run)], args[0], address), args[1:]...)
			results[i], errs[i] = limits(t.Context(), l.folder, command, fmt.Sprintf("%s-%d", filepath.Base(l.folder), i), !p.inexact)
		})
	}
	running.Wait()
	working := 0
	for i, p := range l.programs {
		if errs[i] == nil {
			working++
		}
		t.Run(p.program, func(t *testing.T) {
			switch works, expected := errs[i] == nil, p.works && !*onRedis || *onRedis && !p.newer; {
			case expected && !works:
				t.Errorf("FAIL %s: %v", results[i], errs[i])
			case !works:
				t.Logf("does not work yet: %s: %v", results[i], errs[i])
			case !expected:
				t.Logf("ok %s, which is news: set works in limiters_test.go", results[i])
			default:
				t.Logf("ok %s", results[i])
			}
		})
	}
	t.Logf("%d of %d programs work", working, len(l.programs))
	if !*onRedis && !t.Failed() {
		l.checkPage(t, results)
	}
}

// startRedis returns the address of a redis-server that ends with the test.
func startRedis(t *testing.T) string {
	require(t, "redis-server", "Redis 7.0 or later")
	return testserver.StartRedis(t).Address
}

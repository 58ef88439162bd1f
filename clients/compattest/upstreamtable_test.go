//go:build e2e

package compattest

import "path/filepath"

// Tools of the tests.
var (
	mocha = []string{"../node_modules/.bin/mocha", "--exit", "--reporter=xunit", "--reporter-option=output=$RESULTS"}
	tools = []string{"pytest==9.2.0", "pytest-asyncio==1.5.0"}
)

// Reasons for differences. The limiters themselves send none of the commands.
const (
	limitsCost    = "a script takes a million entries, more than its 500,000 steps"
	throttledKeys = "keys of 9,000 bytes need a larger `--max-key-size`"
)

// upstreamSuites is the only list of them. The versions of the libraries are pinned in the files of limiters.
var upstreamSuites = []upstreamSuite{
	{
		library: "github.com/ulule/limiter/v3",
		from:    goModules,
		env:     []string{"REDIS_URI=redis://127.0.0.1:$PORT/0"},
		run:     []string{"go", "test", "-json", "-count=1", "-timeout=5m", "./drivers/store/redis/..."},
	},
	{
		library: "github.com/throttled/throttled/v2",
		from:    goModules,
		edits: []edit{
			{"store/*/*_test.go", ":6379", ":$PORT"},
			{"store/*/*_test.go", "redisTestDB     = 1", "redisTestDB     = 0"},
		},
		run: []string{"go", "test", "-json", "-count=1", "-timeout=5m", "-run=TestRedisStore", "./store/goredisstore.v9", "./store/redigostore"},
	},
	{
		library: "github.com/go-redis/redis_rate/v10",
		from:    goModules,
		edits:   []edit{{"*_test.go", ":6379", ":$PORT"}},
		run:     []string{"go", "test", "-json", "-count=1", "-timeout=5m"},
	},
	{
		library: "ratelimiter",
		from:    npm,
		needs:   []string{"mocha@10.8.2", "should@13.2.3", "async@3.2.6", "ioredis@4.31.0", "redis@2.8.0"},
		edits:   []edit{{"test/index.js", "createClient()", "createClient($PORT)"}},
		run:     mocha,
	},
	{
		library: "redis-gcra",
		from:    npm,
		needs:   []string{"mocha@10.8.2", "should@13.2.3", "ioredis@4.31.0"},
		edits:   []edit{{"test/*.js", "db: 4", "port: $PORT"}},
		run:     mocha,
	},
	{
		library: "@fastify/rate-limit",
		from:    npm,
		needs:   []string{"fastify@5.12.8", "ioredis@5.8.2", "@sinonjs/fake-timers@15.0.0"},
		edits:   []edit{{"test/redis-rate-limit.test.js", "host: REDIS_HOST", "host: REDIS_HOST, port: $PORT"}},
		run:     []string{"node", "--test", "--test-reporter=junit", "--test-reporter-destination=$RESULTS", "test/redis-rate-limit.test.js"},
	},
	{
		library: "rolling-rate-limiter",
		from:    npm,
		needs:   []string{"jest@29.7.0", "jest-junit@16.0.0", "ioredis@5.8.2", "redis@4.7.1"},
		edits: []edit{
			{"lib/index.test.js", "redis.createClient()", "redis.createClient({ url: 'redis://127.0.0.1:$PORT' })"},
			{"lib/index.test.js", "ioredis_1.default()", "ioredis_1.default($PORT)"},
		},
		env: []string{"JEST_JUNIT_OUTPUT_FILE=$RESULTS"},
		run: []string{"../node_modules/.bin/jest", "lib/index.test.js", "--forceExit", "--reporters=jest-junit"},
	},
	{
		library: "bottleneck",
		from:    npm,
		needs:   []string{"mocha@10.8.2", "ioredis@4.31.0", "redis@2.8.0"},
		edits: []edit{
			{"test/*.js", "datastore: process.env.DATASTORE", "datastore: process.env.DATASTORE, clientOptions: { port: $PORT }"},
			{"test/ioredis.js", "IORedisConnection()", "IORedisConnection({ clientOptions: { port: $PORT } })"},
			{"test/ioredis.js", "new Redis()", "new Redis($PORT)"},
		},
		env: []string{"DATASTORE=ioredis", "REDIS_HOST=127.0.0.1", "REDIS_PORT=$PORT"},
		run: append(mocha, "test/cluster.js", "test/general.js", "test/group.js", "test/ioredis.js", "test/priority.js",
			"test/promises.js", "test/retries.js", "test/states.js", "test/stop.js"),
		leftOut: "of two parts that use no server",
	},
	{
		library: "walrus",
		from:    pypi,
		needs:   tools,
		edits:   []edit{{"walrus/tests/base.py", "db=15", "db=0"}},
		env:     []string{"WALRUS_REDIS_PORT=$PORT"},
		run:     pytest("walrus/tests/rate_limit.py"),
		leftOut: "of the other data types: Stint has no streams, for example",
	},
	{
		library: "pyrate-limiter",
		from:    pypi,
		needs:   tools,
		edits:   []edit{{"tests/*.py", "localhost:6379", "127.0.0.1:$PORT"}},
		run:     pytest("tests", "-k=redis", "--ignore=tests/test_aiohttp_limiter.py"),
		leftOut: "of aiohttp, because it needs another web server",
	},
	{
		library: "throttled-py",
		from:    pypi,
		needs:   tools,
		edits: []edit{ // their server is a fake
			{"tests/conftest.py", "from fakeredis import FakeConnection\n", ""},
			{"tests/asyncio/conftest.py", "from fakeredis.aioredis import FakeConnection\n", ""},
			{"tests/conftest.py", `"REDIS_CLIENT_CLASS": "fakeredis.FakeRedis",`, ""},
			{"tests/asyncio/conftest.py", `"REDIS_CLIENT_CLASS": "fakeredis.aioredis.FakeRedis",`, ""},
			{"tests/conftest.py", `"CONNECTION_POOL_KWARGS": {"connection_class": FakeConnection},`, ""},
			{"tests/conftest.py", "options={", `server="redis://127.0.0.1:$PORT", options={`},
			{"tests/asyncio/conftest.py", `"CONNECTION_POOL_KWARGS": {"connection_class": FakeConnection},`, ""},
			{"tests/asyncio/conftest.py", "options={", `server="redis://127.0.0.1:$PORT", options={`},
		},
		run:     pytest("-k=redis", "tests/store", "tests/rate_limiter", "tests/asyncio/store", "tests/asyncio/rate_limiter"),
		leftOut: "of web frameworks, which use the store in memory, and benchmarks",
		differs: map[string]string{
			"tests.asyncio.store.test_store.TestStore: test_get[redis-key(long text)-not set]": throttledKeys,
			"tests.asyncio.store.test_store.TestStore: test_get[redis-key(long text)-set]":     throttledKeys,
			"tests.store.test_store.TestStore: test_get[redis-key(long text)-not set]":         throttledKeys,
			"tests.store.test_store.TestStore: test_get[redis-key(long text)-set]":             throttledKeys,
		},
	},
	{
		library: "limits",
		from:    pypi,
		needs: append(tools, "pytest-lazy-fixtures==1.4.1", "pytest-mock==3.17.0", "flaky==3.8.1", "hiro==1.1.1", "pymongo==4.20.0",
			"pymemcache==4.0.0", "valkey==6.2.0"),
		edits: []edit{
			{"tests/conftest.py", "7379", "$PORT"},
			{"tests/*.py", "localhost:7379", "127.0.0.1:$PORT"},
			{"tests/aio/*.py", "localhost:7379", "127.0.0.1:$PORT"},
			// The servers would be containers.
			{"tests/conftest.py", "def docker_services(host_ip_env, docker_services):\n    return docker_services",
				"def docker_services():\n    return __import__('unittest.mock').mock.MagicMock()"},
		},
		run:     pytest("tests", "-m=redis", "-k=not uds", "--ignore=tests/benchmarks"),
		leftOut: "of sockets of Unix, of clusters and Sentinel, and benchmarks",
		differs: map[string]string{
			"tests.aio.test_strategy.TestAsyncMovingWindow: test_moving_window_huge_cost[redis]": limitsCost,
			"tests.test_strategy.TestMovingWindow: test_moving_window_huge_cost[redis_basic]":    limitsCost,
		},
	},
}

// pytest is the command that runs tests of a Python library.
func pytest(args ...string) []string {
	python, err := filepath.Abs(inVirtualEnvironment + "/bin/python")
	if err != nil {
		panic(err)
	}
	return append([]string{python, "-m", "pytest", "--override-ini=addopts=", "--override-ini=filterwarnings=", "--junitxml=$RESULTS"}, args...)
}

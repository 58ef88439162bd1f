package flakiness

import (
	"fmt"
	"strings"
	"testing"
)

// A snippet of test code, which the rule must find something in or accept. The name of the file decides on the
// language.
type snippet struct {
	rule, file string
	found      bool
	code       string
}

const aTest = "func TestX(t *testing.T) {\n%s\n}\n"

// inTest are statements of a Go test.
func inTest(rule string, found bool, statements ...string) (all []snippet) {
	for _, s := range statements {
		all = append(all, snippet{rule, "x/x_test.go", found, fmt.Sprintf(aTest, s)})
	}
	return all
}

func snippetsIn(rule, file string, found bool, codes ...string) (all []snippet) {
	for _, code := range codes {
		all = append(all, snippet{rule, file, found, code})
	}
	return all
}

// Every rule finds its snippets, and accepts others that look alike.
func TestFlakinessRules(t *testing.T) {
	var all []snippet
	for _, some := range [][]snippet{timeSnippets(), cpuSnippets(), waitSnippets(), processSnippets(), pipeSnippets(), idleSnippets(), seedSnippets(), clickSnippets()} {
		all = append(all, some...)
	}
	tested := map[string]map[bool]bool{}
	for _, s := range all {
		if tested[s.rule] == nil {
			tested[s.rule] = map[bool]bool{}
		}
		tested[s.rule][s.found] = true
		var packages []*goPackage
		var texts []textFile
		if strings.HasSuffix(s.file, ".go") {
			p, err := snippetPackage(s.file, s.code)
			if err != nil {
				t.Fatalf("%v\n%s", err, s.code)
			}
			packages = append(packages, p)
		} else {
			texts = append(texts, newTextFile(s.file, s.code))
		}
		found := false
		for _, f := range findFlakiness(packages, texts) {
			found = found || f.rule.name == s.rule
		}
		if found != s.found {
			t.Errorf("%s: found %v, want %v, in %s:\n%s", s.rule, found, s.found, s.file, s.code)
		}
	}
	for _, rule := range rules {
		if !tested[rule.name][true] || !tested[rule.name][false] {
			t.Errorf("no snippet shows what %s finds, or what it accepts", rule.name)
		}
	}
}

func cpuSnippets() []snippet {
	return append(inTest("cpu", true, `var use syscall.Rusage; syscall.Getrusage(syscall.RUSAGE_SELF, &use)`, `if command.ProcessState.UserTime() > time.Second { t.Error() }`),
		snippet{"cpu", "x/x_test.go", false, "func BenchmarkX(b *testing.B) {\nvar use syscall.Rusage\nsyscall.Getrusage(syscall.RUSAGE_SELF, &use)\n}\n"})
}

func timeSnippets() []snippet {
	return append(append(inTest("time", true,
		`start := time.Now(); f(); if time.Since(start) > time.Second { t.Error() }`,
		`start := time.Now(); f(); took := time.Since(start); if took.Seconds() > 2 { t.Error() }`,
		`start := time.Now(); f(); if d := time.Now().Sub(start); d > limit { t.Error() }`,
		`start := time.Now(); n := f(); rate := float64(n) / time.Since(start).Seconds(); if rate < 1000 { t.Error() }`,
		`start := time.Now(); var all []time.Duration; all = append(all, time.Since(start)); if all[0] > limit { t.Error() }`,
		`start := time.Now().UnixNano(); f(); if time.Now().UnixNano()-start > 5 { t.Error() }`,
		`for deadline := time.Now().Add(time.Minute); !ready(); { if time.Now().After(deadline) { t.Fatal() } }`,
		`start := time.Now(); f(); check(t, time.Since(start))`,
	), append(snippetsIn("time", "x/x_test.go", true,
		"func TestX(t *testing.T) { helper(t) }\nfunc helper(t *testing.T) { start := time.Now(); if time.Since(start) > limit { t.Error() } }",
	), inTest("time", false,
		`start := time.Now(); f(); t.Logf("took %v", time.Since(start).Round(time.Millisecond))`,
		`start := time.Now(); f(); b.ReportMetric(time.Since(start).Seconds(), "s")`,
		`synctest.Test(t, func(t *testing.T) { start := time.Now(); f(); if time.Since(start) != time.Second { t.Error() } })`,
		`if got := s.Expires(); !got.After(past) { t.Error() }`,
	)...)...), append(snippetsIn("time", "x/x_test.go", false,
		"func TestX(t *testing.T) { synctest.Test(t, func(t *testing.T) { helper(t) }) }\nfunc helper(t *testing.T) { start := time.Now(); if time.Since(start) > limit { t.Error() } }",
		"func BenchmarkX(b *testing.B) { start := time.Now(); if time.Since(start) > limit { b.Error() } }",
	), append(snippetsIn("time", "x.mjs", true, `assert.ok(performance.now() - began < 1000)`, `while (Date.now() < deadline) await x()`),
		append(snippetsIn("time", "x.java", true, `assertTrue(System.nanoTime() - begun < 1000);`), append(snippetsIn("time", "x.py", true, "assert time.monotonic() - began < 1", "while time.monotonic() < deadline:"),
			append(snippetsIn("time", "x.mjs", false, "console.log(`${performance.now() - began} ms`)"),
				snippetsIn("time", "x.py", false, `print(time.monotonic() - began)`)...)...)...)...)...)...)
}

func waitSnippets() (all []snippet) {
	all = append(all, inTest("sleep", true, `time.Sleep(100 * time.Millisecond)`, `<-time.After(time.Second)`, `go func() { time.Sleep(pause) }()`)...)
	all = append(all, inTest("sleep", false,
		`testwait.Until(t, "it is ready", ready)`,
		`synctest.Test(t, func(t *testing.T) { time.Sleep(time.Hour) })`,
		`select { case <-done: case <-time.After(testwait.Limit): t.Fatal() }`,
	)...)
	all = append(all, snippetsIn("sleep", "x.mjs", true, `await new Promise((resolve) => setTimeout(resolve, 100))`, `await sleep(100)`)...)
	all = append(all, snippetsIn("sleep", "x.mjs", false, `await until(() => ready)`, `// setTimeout(f, 100)`)...)
	all = append(all, snippetsIn("sleep", "x.java", true, `Thread.sleep(100);`, `Pause.of(20);`)...)
	all = append(all, snippetsIn("sleep", "x.java", false, `// Thread.sleep(100)`, `future.join();`)...)
	all = append(all, snippetsIn("sleep", "x.py", true, `time.sleep(0.1)`, `await asyncio.sleep(1)`)...)
	all = append(all, snippetsIn("sleep", "x.py", false, `await asyncio.sleep(0)`, `await until(ready)`)...)
	all = append(all, snippetsIn("sleep", ".ci/run", true, `sleep 5`, `until ready; do sleep 0.1; done`)...)
	all = append(all, snippetsIn("sleep", ".ci/run", false, `# sleep 5`, `echo asleep 5`)...)
	all = append(all, inTest("timeout", true,
		`select { case <-done: case <-time.After(2 * time.Second): t.Fatal() }`,
		`ctx, cancel := context.WithTimeout(t.Context(), time.Second); defer cancel()`,
		`_ = conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond))`,
		`conn, err := net.DialTimeout("tcp", address, 1*time.Second)`,
		`c := &http.Client{Timeout: 3 * time.Second}`,
		`l := stint.Connect(at, stint.FailOpen(), stint.Timeout(5*time.Second))`,
	)...)
	all = append(all, snippetsIn("timeout", "x.mjs", true, `new Limiter(client, { whenDown: failOpen(), timeout: 5000 })`, `{ timeout: "2s" }`)...)
	all = append(all, snippetsIn("timeout", "x.mjs", false, `{ timeout: 30_000 }`, `{ timeout: 5 }`, `{ timeout: "1m" }`)...)
	all = append(all, snippetsIn("timeout", "x.java", true, `builder.timeout(Duration.ofSeconds(2)).build()`, `future.get(5, TimeUnit.SECONDS)`)...)
	all = append(all, snippetsIn("timeout", "x.java", false, `builder.timeout(Duration.ofSeconds(30)).build()`, `future.get(1, TimeUnit.MINUTES)`)...)
	all = append(all, snippetsIn("timeout", "x.py", true, `Limiter(url, fail_open(), timeout=0.5)`, `thread.join(5)`, `run(command, timeout=9)`)...)
	all = append(all, snippetsIn("timeout", "x.py", false, `Limiter(url, fail_open(), timeout=20)`, `Limiter(url, fail_open(), timeout=0.02)`, `thread.join()`)...)
	all = append(all, snippetsIn("timeout", "x/x_test.go", true, "const giveUp = 2 * time.Second\n"+fmt.Sprintf(aTest, `<-time.After(giveUp)`))...)
	return append(all, inTest("timeout", false,
		`select { case <-done: case <-time.After(time.Minute): t.Fatal() }`,
		`_ = conn.SetDeadline(testwait.Deadline())`,
		`l := stint.Connect(at, stint.FailOpen(), stint.Timeout(10*time.Second))`,
		`l := stint.Connect(at, stint.FailOpen(), stint.Timeout(20*time.Millisecond))`,
		`synctest.Test(t, func(t *testing.T) { ctx, cancel := context.WithTimeout(t.Context(), time.Second); defer cancel() })`,
	)...)
}

func processSnippets() (all []snippet) {
	const takes = `l, err := net.Listen("tcp", "127.0.0.1:0"); `
	all = append(all, inTest("port", true, takes+`address := l.Addr().String(); _ = l.Close(); serve(address)`, takes+`defer l.Close(); address := l.Addr().String(); serve(address)`,
		`l, err := net.Listen("tcp", "127.0.0.1:6379"); serve(l)`)...)
	all = append(all, snippetsIn("port", "x/x_test.go", true, "func freePort(t *testing.T) string { return reserve() }\nfunc TestX(t *testing.T) { freePort(t) }")...)
	all = append(all, inTest("port", false, takes+`defer l.Close(); go serve(l); dial(l.Addr())`, takes+`defer l.Close(); go func() { _, _ = l.Accept() }(); dial(l.Addr())`)...)
	all = append(all, snippetsIn("port", "internal/testserver/reserve.go", false, "func freePort() string { return reserve() }")...)
	all = append(all, snippetsIn("port", "x.mjs", true, "const s = net.createServer().listen(0, () => {\n  const { port } = s.address()\n  s.close(() => resolve(port))\n})")...)
	all = append(all, snippetsIn("port", "x.mjs", false, "const s = net.createServer().listen(0, () => resolve(s.address().port))")...)
	all = append(all, snippetsIn("port", "x.py", true, "with socket.socket() as s:\n    s.bind((\"127.0.0.1\", 0))\n    return s.getsockname()[1]")...)
	all = append(all, snippetsIn("port", "x.py", false, "s.bind((\"127.0.0.1\", 0))\ns.listen()\nserve(s)")...)
	all = append(all, inTest("child", true, `out, err := exec.Command("go", "version").Output()`, `out, err := exec.CommandContext(t.Context(), "go", "version").Output()`)...)
	all = append(all, inTest("child", false, `cmd := exec.CommandContext(t.Context(), "go", "version"); cmd.WaitDelay = time.Second; cmd.Run()`, `testserver.Command(t, "go", "version")`,
		`_, err := exec.LookPath("go")`)...)
	return append(all, snippetsIn("child", "internal/testserver/process.go", false, "func start() { exec.Command(\"go\").Start() }")...)
}

func pipeSnippets() []snippet {
	return append(snippetsIn("pipe", ".ci/run", true, `sort -rn tests | head -n 10`, `go list ./... | grep -q main`, `list | grep -F -m 1 x`, `list | sed '/x/q'`),
		snippetsIn("pipe", ".ci/run", false, `sort -rn tests | sed -n 1,10p`, `grep -q main list`, `list | grep main >/dev/null`, `list | head -n 3 || true`, `# list | head`)...)
}

func idleSnippets() []snippet {
	return append(inTest("idle", true, `cfg, clock := config.Default(), clocktest.New(start); cfg.Listen = address; serve(cfg, clock)`),
		inTest("idle", false, `cfg, clock := config.Default(), clocktest.New(start); cfg.Listen, cfg.IdleTimeout = address, 0; serve(cfg, clock)`, `cfg := config.Default(); cfg.Listen = address; serve(cfg)`)...)
}

func seedSnippets() (all []snippet) {
	v2, quick := "import \"math/rand/v2\"\n", "import \"testing/quick\"\n"
	test := func(statement string) string { return fmt.Sprintf(aTest, statement) }
	all = append(all, snippetsIn("seed", "x/x_test.go", true,
		v2+test(`_ = rand.IntN(5)`), v2+test(`rand.Shuffle(5, swap)`), "import \"math/rand\"\n"+test(`_ = rand.Intn(5)`), "import mrand \"math/rand/v2\"\n"+test(`_ = mrand.N(5)`),
		v2+test(`r := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0)); r.IntN(5)`),
		quick+test(`quick.Check(f, nil)`), quick+test(`quick.Check(f, &quick.Config{MaxCount: 5})`),
	)...)
	all = append(all, snippetsIn("seed", "x/x_test.go", false,
		v2+test(`rand := rand.New(rand.NewPCG(testsize.Seed(), 0))`), v2+test(`r := rand.New(rand.NewPCG(1, 2)); r.IntN(5)`),
		"import \"crypto/rand\"\n"+test(`rand.Read(key)`), quick+test(`quick.Check(f, &quick.Config{Rand: r})`),
	)...)
	all = append(all, snippetsIn("seed", "x.mjs", true, `const n = Math.random()`)...)
	all = append(all, snippetsIn("seed", "x.mjs", false, `const n = random.next()`)...)
	all = append(all, snippetsIn("seed", "x.java", true, `int n = new Random().nextInt();`)...)
	all = append(all, snippetsIn("seed", "x.java", false, `Random random = new Random(seed);`)...)
	all = append(all, snippetsIn("seed", "x.py", true, "import random\nn = random.randint(1, 5)", "import random\nr = random.Random()")...)
	all = append(all, snippetsIn("seed", "x.py", false, "import random\nr = random.Random(7)\nself.random.randint(1, 5)", "random = Random(7)\nrandom.randint(1, 5)")...)
	all = append(all, snippetsIn("seed", ".ci/run", true, `port=$((20000 + RANDOM))`, `echo $RANDOM`)...)
	return append(all, snippetsIn("seed", ".ci/run", false, `echo "$TEST_RANDOM"`)...)
}

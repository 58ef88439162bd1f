//go:build e2e

package compattest

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// redisCLI runs redis-cli against one server and counts its checks.
type redisCLI struct {
	*testing.T
	host, port string
	checks     int
}

func testRedisCLI(t *testing.T, servers servers) {
	require(t, "redis-cli", "Redis's command line tools, version 7 or later")
	host, port, err := net.SplitHostPort(servers.alone)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("-c", func(t *testing.T) { followWithRedisCLI(t, servers.nodes) })
	for _, protocol := range []string{"2", "3"} {
		c := &redisCLI{T: t, host: host, port: port}
		c.transcript("-" + protocol)
		c.protocol("-"+protocol, "resp="+protocol)
		if protocol == "2" {
			c.lines()
			c.pipe()
			c.arguments()
			c.scan()
			c.largestKeys()
			c.stat()
			c.benchmark()
			c.tools()
		}
		if c.checks == 0 {
			t.Error("no checks")
		}
		t.Logf("redis-cli RESP%s: %d checks", protocol, c.checks)
	}
}

// followWithRedisCLI asks every node; but for the leader they send redis-cli there, which with -c goes.
func followWithRedisCLI(t *testing.T, nodes []string) {
	for i, node := range nodes {
		host, port, err := net.SplitHostPort(node)
		if err != nil {
			t.Fatal(err)
		}
		c := testserver.Command(t, "redis-cli", "-c", "-h", host, "-p", port, "TB.ACQUIRE", "redis-cli follows", "3", "1/h")
		output, err := c.CombinedOutput()
		if want := fmt.Sprintf("1\n3\n%d\n0\n", 2-i); err != nil || !strings.HasPrefix(string(output), want) {
			t.Errorf("%s: %v\n%s", c, err, output)
		}
	}
}

// transcript types the commands of a transcript, its lines starting with "> ", and compares the lines that answer them.
func (c *redisCLI) transcript(protocol string) {
	text, err := os.ReadFile(filepath.Join("testdata", "redis-cli.txt"))
	if err != nil {
		c.Fatal(err)
	}
	var commands, wants []string
	for _, entry := range strings.Split("\n"+string(text), "\n> ")[1:] {
		command, want, _ := strings.Cut(entry, "\n")
		commands, wants = append(commands, command), append(wants, want)
	}
	got := strings.Split(c.run(strings.Join(commands, "\n")+"\n", protocol, "--no-raw"), "\n")
	for i, command := range commands {
		want := strings.Split(strings.TrimSuffix(wants[i], "\n"), "\n")
		n := min(len(want), len(got))
		c.check(slices.Equal(got[:n], want), "%s %s: got %q, want %q", protocol, command, got[:n], want)
		got = got[n:]
	}
}

// protocol checks that the connection speaks what redis-cli asked for.
func (c *redisCLI) protocol(option, field string) {
	info := c.run("", option, "CLIENT", "INFO")
	c.check(slices.Contains(strings.Fields(info), field), "%s: no %s in %s", option, field, info)
}

// lines sends a hundred commands as lines of standard input.
func (c *redisCLI) lines() {
	c.run("", "DEL", "cli:lines")
	replies := strings.Fields(c.run(strings.Repeat("CL.THROTTLE cli:lines 4 1 86400\n", 100)))
	if c.check(len(replies) == 500, "100 lines: %d integers, want 500", len(replies)) {
		for i := range 100 {
			reply, want := replies[5*i:5*i+4], []string{"0", "5", fmt.Sprint(4 - i), "-1"}
			if i >= 5 {
				reply, want = reply[:3], []string{"1", "5", "0"}
			}
			c.check(slices.Equal(reply, want), "100 lines: reply %d: got %v, want %v", i+1, reply, want)
		}
	}
}

// pipe sends a hundred commands, one of them wrong, in the protocol itself, as fast as the server takes them.
func (c *redisCLI) pipe() {
	c.run("", "DEL", "cli:pipe")
	good := "*4\r\n$10\r\nTB.ACQUIRE\r\n$8\r\ncli:pipe\r\n$4\r\n1000\r\n$3\r\n1/h\r\n"
	bad := "*2\r\n$10\r\nTB.ACQUIRE\r\n$8\r\ncli:pipe\r\n"
	summary := c.run(strings.Repeat(good, 60)+bad+strings.Repeat(good, 39), "--pipe")
	c.check(strings.HasSuffix(strings.TrimSpace(summary), "errors: 1, replies: 100"), "--pipe: got %q", summary)
	left := strings.Fields(c.run("", "TB.ACQUIRE", "cli:pipe", "1000", "1/h", "1000", "UPTO"))
	c.check(len(left) == 5 && left[0] == "901", "--pipe: after 99 of 1000 tokens, got %v", left)
}

// arguments runs one command given as arguments, one that succeeds and one that fails.
func (c *redisCLI) arguments() {
	c.run("", "DEL", "cli:arguments")
	got := c.run("", "TB.ACQUIRE", "cli:arguments", "10", "5/m")
	c.check(got == "1\n10\n9\n0\n12000\n", "arguments: got %q", got)
	output, err := c.command("TB.ACQUIRE", "cli:arguments", "ten", "1").CombinedOutput()
	c.check(strings.Contains(string(output), "capacity: must be an integer"), "arguments: got %q, %v", output, err)
}

// scan lists keys the way people look for them.
func (c *redisCLI) scan() {
	for i := range 20 {
		c.run("", "TB.ACQUIRE", fmt.Sprintf("cli:scan:%02d", i), "10", "1/h")
	}
	keys := strings.Fields(c.run("", "--scan", "--pattern", "cli:scan:*"))
	slices.Sort(keys)
	c.check(len(slices.Compact(keys)) == 20, "--scan: got %v, want 20 keys", keys)
}

// largestKeys looks for the largest keys, and for those used most, which Stint does not count and says so.
func (c *redisCLI) largestKeys() {
	for _, command := range [][]string{
		{"SET", "cli:string", "text"}, {"RPUSH", "cli:list", "1", "2"}, {"HSET", "cli:hash", "field", "value"}, {"SADD", "cli:set", "a"}, {"ZADD", "cli:sorted-set", "1", "a"},
	} {
		c.run("", command...)
	}
	for _, option := range []string{"--bigkeys", "--memkeys"} {
		got := c.run("", option)
		c.check(strings.Contains(got, "1 hashs with") && strings.Contains(got, "1 zsets with") && !strings.Contains(got, "ERR"), "%s: got %s", option, got)
	}
	output, _ := c.command("--hotkeys").CombinedOutput()
	c.check(strings.Contains(string(output), "Error: ERR An LFU maxmemory policy is not selected"), "--hotkeys: got %s", output)
}

// stat reads the first lines of what redis-cli prints until it is stopped.
func (c *redisCLI) stat() {
	command := c.command("--stat", "-i", "0.001") // its output comes 4 KiB at a time
	output, err := command.StdoutPipe()
	if err != nil || command.Start() != nil {
		c.Fatal("--stat does not start")
	}
	defer func() { _ = command.Wait() }()
	defer func() { _ = command.Process.Kill() }()
	lines := bufio.NewScanner(output)
	for n := 0; n < 3 && lines.Scan(); n++ {
		want := []string{"data", "keys", "+0"}[n] // the headings, and the first line of numbers
		c.check(strings.Contains(lines.Text(), want), "--stat: got %q, want %s", lines.Text(), want)
	}
}

// benchmark runs all tests of redis-benchmark, with fewer elements than make a list too large for a key.
func (c *redisCLI) benchmark() {
	command := testserver.Command(c.T, "redis-benchmark", "-h", c.host, "-p", c.port, "-n", "500", "-q")
	output, err := command.CombinedOutput()
	text := strings.ReplaceAll(string(output), "\r", "\n")
	for _, name := range []string{"PING_MBULK", "SET", "INCR", "RPUSH", "RPOP", "SADD", "HSET", "SPOP", "ZADD", "ZPOPMIN", "LRANGE_600 (first 600 elements)", "MSET (10 keys)"} {
		c.check(strings.Contains(text, "\n"+name+": "), "redis-benchmark: %s is missing", name)
	}
	for _, line := range strings.Split(text, "\n") {
		if strings.Contains(line, "rror") {
			c.check(strings.Contains(line, "unknown command 'XADD'"), "redis-benchmark: %s", line)
		}
	}
	c.check(err == nil || strings.Contains(text, "unknown command 'XADD'"), "redis-benchmark: %v", err)
}

// tools sends what Redis Insight and redis_exporter send to a server when they connect, and to show its data.
func (c *redisCLI) tools() {
	for _, line := range []string{
		"CLIENT SETNAME redisinsight", "INFO", "INFO all", "INFO server", "INFO clients", "INFO keyspace", "INFO replication", "MODULE LIST", "COMMAND", "COMMAND DOCS", "ACL WHOAMI",
		"CONFIG GET databases", "CONFIG GET *", "CONFIG GET maxmemory*", "DBSIZE", "SCAN 0 MATCH * COUNT 500", "SCAN 0 TYPE hash", "TYPE cli:hash", "TTL cli:hash", "MEMORY USAGE cli:hash SAMPLES 0",
		"OBJECT ENCODING cli:hash", "HLEN cli:hash", "HSCAN cli:hash 0 MATCH * COUNT 500", "SSCAN cli:set 0", "ZSCAN cli:sorted-set 0", "STRLEN cli:string", "LLEN cli:list", "GETRANGE cli:string 0 99",
		"CLIENT LIST", "SLOWLOG LEN", "SLOWLOG GET 1", "LATENCY LATEST", "LATENCY HISTOGRAM", "PUBSUB CHANNELS *", "PUBSUB NUMPAT", "SELECT 0", "ROLE", "ECHO x",
	} {
		got := c.run("", append([]string{"-e"}, strings.Fields(line)...)...)
		c.check(!strings.HasPrefix(got, "ERR") && !strings.HasPrefix(got, "NOPERM"), "%s: got %.200s", line, got)
	}
	output, _ := c.command("CLUSTER", "INFO").CombinedOutput()
	c.check(strings.Contains(string(output), "ERR This instance has cluster support disabled"), "CLUSTER INFO: got %s", output)
}

// run returns what redis-cli prints, and fails the test if it does not succeed.
func (c *redisCLI) run(stdin string, args ...string) string {
	command := c.command(args...)
	command.Stdin = strings.NewReader(stdin)
	output, err := command.CombinedOutput()
	// With an error among its replies, --pipe prints the error and ends with status 1.
	if err != nil && !slices.Contains(args, "--pipe") {
		c.Errorf("%s: %v\n%s", command, err, output)
	}
	return string(output)
}

func (c *redisCLI) command(args ...string) *exec.Cmd {
	return testserver.Command(c.T, "redis-cli", append([]string{"-h", c.host, "-p", c.port}, args...)...)
}

func (c *redisCLI) check(ok bool, format string, args ...any) bool {
	c.checks++
	if !ok {
		c.Errorf(format, args...)
	}
	return ok
}

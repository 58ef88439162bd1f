//go:build e2e

package compattest

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
)

// pageProgram makes a program of the lines that docs/clients.md shows for a client, and returns the command that runs
// it in a folder.
type pageProgram func(t *testing.T, lines, port string, timeouts *strings.Replacer, folder string) (command []string)

var pagePrograms = map[string]pageProgram{
	"php phpredis":            phpProgram("", ""),
	"php predis":              phpProgram("require 'Predis/autoload.php';", ""),
	"php laravel":             laravelProgram("phpredis"),
	"php laravel with predis": laravelProgram("predis"),
	"ruby redis":              rubyProgram("", ""),
	"ruby rails":              rubyProgram(railsBefore, railsAfter),
	"java jedis":              javaProgram,
	"java lettuce":            javaProgram,
}

// The rest of a Rails application, as much of it as the lines use.
const (
	railsBefore = `require "redis"
		require "logger"
		module ActionController
		  class Base
		    def self.before_action(name) = @@before = name
		    def response = @response ||= Struct.new(:headers, :status).new({}, 200)
		    def request = Struct.new(:remote_ip).new("7")
		    def logger = Logger.new($stderr)
		    def head(status) = response.status = status
		    def self.run
		      controller = new
		      controller.send(@@before)
		      seconds = controller.response.headers["Retry-After"]
		      puts controller.response.status == :too_many_requests ? "ask again in #{seconds}000 ms" : "go ahead"
		    end
		  end
		end`
	railsAfter = "ApplicationController.run"
)

// laravelProgram passes a request through the middleware with a client for Redis.
func laravelProgram(client string) pageProgram {
	return phpProgram(`require 'Illuminate/Container/autoload.php';
		require 'Illuminate/Redis/autoload.php';
		require 'Illuminate/Http/autoload.php';
		$app = new Illuminate\Container\Container();
		$app['redis'] = new Illuminate\Redis\RedisManager(null, '`+client+`', ['stint' => [
			'host' => '127.0.0.1', 'port' => PORT, 'database' => 0,
			'timeout' => TIMEOUT, 'read_timeout' => TIMEOUT, 'read_write_timeout' => TIMEOUT]]);
		Illuminate\Support\Facades\Facade::setFacadeApplication($app);
		function report($e) { error_log($e->getMessage()); }`,
		`$request = Request::create('/', 'GET', [], [], [], ['REMOTE_ADDR' => '7']);
		$response = (new LimitRequests())->handle($request, fn () => new Response('found'));
		$seconds = $response->headers->get('Retry-After');
		echo $response->getStatusCode() === 429 ? "ask again in {$seconds}000 ms\n" : "go ahead\n";`)
}

var pageBlock = regexp.MustCompile("(?ms)^```((?:php|ruby|java) [a-z]+)\n(.*?)^```")

// pageTimeouts lengthens the timeouts of the lines to a minute, for runs in which the server replies: the machine may be
// busy.
var pageTimeouts = strings.NewReplacer("0.05", "60", "TIMEOUT", "60", "timeoutMillis(50)", "timeoutMillis(60000)",
	"timeout=50ms", "timeout=60s", "ofMillis(50)", "ofSeconds(60)")

// TestPagePrograms runs the lines for PHP, Ruby and Java of docs/clients.md: with tokens, while the limit is in debt,
// with a server that never replies, and without a server.
func TestPagePrograms(t *testing.T) {
	neverCached(t)
	require(t, "redis-cli", "the tools of Redis (Debian: redis-tools)")
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "clients.md"))
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]string{}
	for _, block := range pageBlock.FindAllStringSubmatch(string(page), -1) {
		lines[block[1]] = block[2]
		if pagePrograms[block[1]] == nil {
			t.Errorf("nothing here runs the lines marked %s", block[1])
		}
	}
	lines["php laravel with predis"] = lines["php laravel"]
	server := testserver.Build(t, filepath.Join("..", ".."))
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts connections, and nobody reads from them
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for name, program := range pagePrograms {
		t.Run(name, func(t *testing.T) {
			run := func(address string, timeouts *strings.Replacer, want string) {
				t.Helper()
				_, port, _ := net.SplitHostPort(address)
				command := program(t, strings.ReplaceAll(lines[name], "6379", port), port, timeouts, t.TempDir())
				start := time.Now()
				output, err := testserver.Command(t, command[0], command[1:]...).CombinedOutput()
				if err != nil || !regexp.MustCompile(want).Match(output) {
					t.Fatalf("%v\n%s", err, output)
				}
				t.Logf("%s after %v", strings.TrimSpace(string(output)), time.Since(start).Round(time.Millisecond))
			}
			address := testserver.Start(t, server)
			_, port, _ := net.SplitHostPort(address)
			run(address, pageTimeouts, `^go ahead\n$`)
			force := testserver.Command(t, "redis-cli", "-p", port, "TB.ACQUIRE", "user:7", "3", "1/m", "1000", "FORCE")
			if output, err := force.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			run(address, pageTimeouts, `^ask again in \d{5,8} ms\n$`)
			asWritten := strings.NewReplacer("TIMEOUT", "0.05")
			run(silent.Addr().String(), asWritten, `(?s)\S.*go ahead\n$`)
			run(testserver.ReserveAddress(t), asWritten, `(?s)\S.*go ahead\n$`)
		})
	}
}

// phpProgram is a program with lines before and after that an application has elsewhere.
func phpProgram(before, after string) pageProgram {
	return func(t *testing.T, lines, port string, timeouts *strings.Replacer, folder string) []string {
		require(t, "php", "Debian's php-cli")
		requirePackages(t, filepath.Join("limiters", "php", "packages.txt"))
		_, lines = imports(lines, "namespace ")
		use, rest := imports(lines, "use ")
		before := "error_reporting(E_ALL & ~E_DEPRECATED); " + strings.ReplaceAll(before, "PORT", port)
		text := "<?php\n" + use + before + "\n" + rest + after
		// A program without a namespace is warned of "use Closure", before it runs.
		return []string{"php", "-d", "error_reporting=0", writeProgram(t, folder, "program.php", timeouts.Replace(text))}
	}
}

// rubyProgram is a program with lines before and after that an application has elsewhere.
func rubyProgram(before, after string) pageProgram {
	return func(t *testing.T, lines, port string, timeouts *strings.Replacer, folder string) []string {
		require(t, "ruby", "Debian's ruby")
		requirePackages(t, filepath.Join("limiters", "ruby", "packages.txt"))
		text := strings.ReplaceAll(before, "PORT", port) + "\n" + lines + after + "\n"
		return []string{"ruby", writeProgram(t, folder, "program.rb", timeouts.Replace(text))}
	}
}

func javaProgram(t *testing.T, lines, _ string, timeouts *strings.Replacer, folder string) []string {
	for _, s := range suites {
		if s.folder == "java" {
			s.install(t)
		}
	}
	use, rest := imports(lines, "import ")
	text := use + "class Program {\n public static void main(String[] words) {\n" + rest + "System.exit(0);\n}\n}\n"
	program := writeProgram(t, folder, "Program.java", timeouts.Replace(text))
	return []string{"java", "-classpath", "build/java/libraries/*", program}
}

// imports separates the lines that begin so from the rest.
func imports(lines, begin string) (use, rest string) {
	for line := range strings.Lines(lines) {
		if strings.HasPrefix(line, begin) {
			use += line
		} else {
			rest += line
		}
	}
	return use, rest
}

func writeProgram(t *testing.T, folder, name, text string) (path string) {
	path = filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

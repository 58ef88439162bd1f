//go:build e2e

package compattest

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testserver"
)

// pageProgram makes a program of the lines that docs/clients.md shows for a client, and returns the command that runs it in a folder.
type pageProgram func(t *testing.T, lines, port, folder string) (command []string)

var pagePrograms = map[string]pageProgram{
	"php phpredis": phpProgram(""),
	"php predis":   phpProgram("require 'Predis/autoload.php';"),
	"php laravel": phpProgram(`require 'Illuminate/Container/autoload.php';
		require 'Illuminate/Redis/autoload.php';
		$app = new Illuminate\Container\Container();
		$app['redis'] = new Illuminate\Redis\RedisManager(null, 'phpredis', ['default' => ['host' => '127.0.0.1', 'port' => PORT, 'database' => 0]]);
		Illuminate\Support\Facades\Facade::setFacadeApplication($app);`),
	"php laravel with predis": phpProgram(`require 'Illuminate/Container/autoload.php';
		require 'Illuminate/Redis/autoload.php';
		$app = new Illuminate\Container\Container();
		$app['redis'] = new Illuminate\Redis\RedisManager(null, 'predis', ['default' => ['host' => '127.0.0.1', 'port' => PORT, 'database' => 0]]);
		Illuminate\Support\Facades\Facade::setFacadeApplication($app);`),
	"php symfony":  phpProgram("require 'Symfony/Component/Cache/autoload.php';"),
	"ruby redis":   rubyProgram(""),
	"ruby sidekiq": rubyProgram(`require "sidekiq"; Sidekiq.configure_client { |config| config.redis = { url: "redis://127.0.0.1:PORT" } }`),
	"java jedis":   javaProgram,
	"java lettuce": javaProgram,
}

var pageBlock = regexp.MustCompile("(?ms)^```((?:php|ruby|java) [a-z]+)\n(.*?)^```")

// TestPagePrograms runs the lines for PHP, Ruby and Java of docs/clients.md: with tokens, and while the limit is in debt.
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
	for name, program := range pagePrograms {
		t.Run(name, func(t *testing.T) {
			_, port, _ := net.SplitHostPort(testserver.Start(t, server))
			command := program(t, strings.ReplaceAll(lines[name], "6379", port), port, t.TempDir())
			run := func(want string) {
				output, err := testserver.Command(t, command[0], command[1:]...).CombinedOutput()
				if err != nil || !regexp.MustCompile(want).Match(output) {
					t.Fatalf("%v\n%s", err, output)
				}
			}
			run(`^go ahead\n$`)
			if output, err := testserver.Command(t, "redis-cli", "-p", port, "TB.ACQUIRE", "user:7", "3", "1/m", "1000", "FORCE").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			run(`^ask again in \d{5,8} ms\n$`)
		})
	}
}

// phpProgram is a program with lines in front that an application has elsewhere.
func phpProgram(before string) pageProgram {
	return func(t *testing.T, lines, port, folder string) []string {
		require(t, "php", "Debian's php-cli")
		requirePackages(t, filepath.Join("limiters", "php", "packages.txt"))
		use, rest := imports(lines, "use ")
		text := "<?php\n" + use + "error_reporting(E_ALL & ~E_DEPRECATED); " + strings.ReplaceAll(before, "PORT", port) + "\n" + rest
		return []string{"php", writeProgram(t, folder, "program.php", text)}
	}
}

// rubyProgram is a program with a line in front that an application has elsewhere.
func rubyProgram(before string) pageProgram {
	return func(t *testing.T, lines, port, folder string) []string {
		require(t, "ruby", "Debian's ruby")
		requirePackages(t, filepath.Join("limiters", "ruby", "packages.txt"))
		return []string{"ruby", writeProgram(t, folder, "program.rb", strings.ReplaceAll(before, "PORT", port)+"\n"+lines)}
	}
}

func javaProgram(t *testing.T, lines, _, folder string) []string {
	for _, s := range suites {
		if s.folder == "java" {
			s.install(t)
		}
	}
	use, rest := imports(lines, "import ")
	text := use + "class Program {\n public static void main(String[] words) {\n" + rest + "System.exit(0);\n}\n}\n"
	return []string{"java", "-classpath", "build/java/libraries/*", writeProgram(t, folder, "Program.java", text)}
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

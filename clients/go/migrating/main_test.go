// Package migrating compares the Go client with the libraries that it takes the place of, on the same requests. The
// pages beside it show code from here.
package migrating

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

var (
	limiter *stint.Limiter
	rdb     *redis.Client // Redis
)

func TestMain(m *testing.M) {
	server, err := servertest.Start()
	if err != nil {
		fail(err)
	}
	store, err := servertest.StartRedis()
	if err != nil {
		server.Kill()
		fail(err)
	}
	limiter = stint.Connect([]string{server.Address}, stint.FailClosed(), stint.Timeout(30*time.Second))
	rdb = redis.NewClient(&redis.Options{Addr: store.Address})
	code := m.Run()
	store.Kill()
	server.Kill()
	servertest.Clean()
	os.Exit(code)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// near is whether two times differ by no more than the requests may have taken, on a machine that is busy.
func near(a, b time.Duration) bool { return (a - b).Abs() <= 20*time.Second }

// TestPages: every Go block of the pages is code of this package, but for its indentation.
func TestPages(t *testing.T) {
	var source strings.Builder
	files, _ := filepath.Glob("*_test.go")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	pages, _ := filepath.Glob("*.md")
	blocks := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, part := range strings.Split(string(text), "```go\n")[1:] {
			block, _, _ := strings.Cut(part, "```")
			blocks++
			if !strings.Contains(flat(source.String()), flat(block)) {
				t.Errorf("%s: Go block %d is not in the tests:\n%s", page, i+1, block)
			}
		}
	}
	if len(pages) < 4 || blocks < 8 {
		t.Errorf("%d pages with %d blocks", len(pages), blocks)
	}
}

// flat is text without indentation and empty lines.
func flat(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

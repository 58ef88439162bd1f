//go:build e2e

package docs

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testserver"
	"github.com/stintdb/stint/internal/testwait"
)

// proxy is a program with a configuration on the page about gateways.
type proxy struct {
	program string
	block   string // language of its block
	write   func(dir, config string) (args []string)
}

var proxies = []proxy{
	{"nginx", "nginx", func(dir, config string) []string {
		config = fmt.Sprintf("error_log stderr;\npid %s/pid;\nevents {}\nhttp {\naccess_log off;\n%s}\n", dir, config)
		return []string{"-e", "stderr", "-p", dir, "-c", save(dir, "nginx.conf", config), "-g", "daemon off; master_process off;"}
	}},
	{"haproxy", "haproxy", func(dir, config string) []string {
		return []string{"-db", "-f", save(dir, "haproxy.cfg", strings.ReplaceAll(config, "/etc/haproxy/stint.lua", dir+"/stint.lua"))}
	}},
	{"caddy", "caddy", func(dir, config string) []string {
		return []string{"run", "--adapter", "caddyfile", "--config", save(dir, "Caddyfile", "{\n\tadmin off\n}\n"+config)}
	}},
}

// patient lengthens the proxies' timeouts for Stint: a busy machine exceeds those of the page, and then they forward everything.
var patient = strings.NewReplacer("50ms", "50s", "100ms", "50s", "timeout = 100", "timeout = 50000")

func save(dir, name, text string) (path string) {
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		panic(err)
	}
	return path
}

// TestGateways runs the proxies of the page in front of an application: two requests are forwarded and the third is denied; while Stint is stopped, and when
// it is gone, they are forwarded. Only then must the timeouts of the page end, so only then do the proxies have them.
func TestGateways(t *testing.T) {
	binary := buildServer(t)
	blocks := map[string]string{}
	for _, b := range readPage(t, gatewaysPage).blocks() {
		blocks[b.language] += b.text()
	}
	for _, p := range proxies {
		t.Run(p.program, func(t *testing.T) {
			require(t, installed(p.program), p.program, p.program+" (Debian: "+p.program+")")
			app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, body)
			}))
			defer app.Close()
			stint, door := startWithHTTP(t, binary)
			if status, _, body := sendExample(t, "http://"+door, []string{"POST /", `["RL.POLICY","SET","api","TB","ip:{}",2,"1/h"]`}); status != "200" {
				t.Fatal(body)
			}
			start := func(config, lua string) (front string) {
				dir, front := t.TempDir(), testserver.ReserveAddress(t)
				places := strings.NewReplacer("127.0.0.1:8080", door, "127.0.0.1:3000", strings.TrimPrefix(app.URL, "http://"), "listen 80", "listen "+front, "bind :80", "bind "+front,
					"http://:80", "http://"+front)
				save(dir, "stint.lua", places.Replace(lua))
				proxy := testserver.NewProcess(t, p.program, p.write(dir, places.Replace(config))...)
				proxy.Env = append(os.Environ(), "HOME="+t.TempDir())
				proxy.Start(t)
				proxy.AwaitConnections(t, "tcp", front)
				return front
			}
			front := start(patient.Replace(blocks[p.block]), patient.Replace(blocks["lua"]))
			for i, want := range []string{"200 POST /a/b?c=d x=1", "200 POST /a/b?c=d x=1", "429 3600"} {
				if got := post(t, front); got != want {
					t.Errorf("request %d: %q, not %q", i+1, got, want)
				}
			}
			front = start(blocks[p.block], blocks["lua"])
			suspend(t, stint)
			if got := post(t, front); got != "200 POST /a/b?c=d x=1" {
				t.Errorf("while Stint is stopped: %q", got)
			}
			if err := stint.End(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if got := post(t, front); got != "200 POST /a/b?c=d x=1" {
				t.Errorf("when Stint is gone: %q", got)
			}
			t.Logf("without Stint a request takes %v", time.Since(began).Round(time.Millisecond))
		})
	}
}

// post sends a request with fields that must not reach Stint, and returns the status with the body, or with Retry-After.
func post(t *testing.T, address string) string {
	r, err := http.NewRequest(http.MethodPost, "http://"+address+"/a/b?c=d", strings.NewReader("x=1"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", "https://shop.example.com")
	r.Header.Set("Authorization", "Basic eDp5")
	r.Header.Set("X-Client", "somebody else")
	response, err := (&http.Client{Timeout: testwait.Limit}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	if response.StatusCode == http.StatusOK {
		return "200 " + string(body)
	}
	return response.Status[:3] + " " + response.Header.Get("Retry-After")
}

// startWithHTTP starts a server, and returns the address of its HTTP port too.
func startWithHTTP(t *testing.T, binary string) (stint *testserver.Process, door string) {
	stint = testserver.Run(t, binary, "server", "--listen", "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--admin=")
	return stint, stint.Listening(t, "HTTP")
}

// suspend stops a process, and returns when all its threads have stopped: the signal is not answered at once.
func suspend(t *testing.T, process *testserver.Process) {
	process.Signal(syscall.SIGSTOP)
	process.Await(t, "all its threads have stopped", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", process.Pid()))
		return len(threads) > 0 && !slices.ContainsFunc(threads, func(thread string) bool {
			stat, err := os.ReadFile(thread)
			return err == nil && !strings.Contains(string(stat), ") T ")
		})
	})
}

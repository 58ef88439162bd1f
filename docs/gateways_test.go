//go:build e2e

package docs

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// proxy is a program with a configuration on the page about gateways.
type proxy struct {
	program string
	block   string // language of its block
	write   func(dir, config string) (args []string)
	most    time.Duration // that it takes while Stint refuses connections
}

var proxies = []proxy{
	{"nginx", "nginx", func(dir, config string) []string {
		config = fmt.Sprintf("error_log stderr;\npid %s/pid;\nevents {}\nhttp {\naccess_log off;\n%s}\n", dir, config)
		return []string{"-e", "stderr", "-p", dir, "-c", save(dir, "nginx.conf", config), "-g", "daemon off;"}
	}, 2 * time.Second},
	{"haproxy", "haproxy", func(dir, config string) []string {
		return []string{"-db", "-f", save(dir, "haproxy.cfg", strings.ReplaceAll(config, "/etc/haproxy/stint.lua", dir+"/stint.lua"))}
	}, 10 * time.Second},
	{"caddy", "caddy", func(dir, config string) []string {
		return []string{"run", "--adapter", "caddyfile", "--config", save(dir, "Caddyfile", "{\n\tadmin off\n}\n"+config)}
	}, 2 * time.Second},
}

func save(dir, name, text string) (path string) {
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		panic(err)
	}
	return path
}

// freeAddress is an address of the loopback that nobody listens on.
func freeAddress(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().String()
}

// TestGateways runs the proxies of the page in front of an application: two requests are forwarded and the third is denied; while Stint is stopped, and when
// it is gone, they are forwarded.
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
			door, front := freeAddress(t), freeAddress(t)
			stint := startWithHTTP(t, binary, door)
			if status, _, body := sendExample(t, "http://"+door, []string{"POST /", `["RL.POLICY","SET","api","TB","ip:{}",2,"1/h"]`}); status != "200" {
				t.Fatal(body)
			}
			dir := t.TempDir()
			places := strings.NewReplacer("127.0.0.1:8080", door, "127.0.0.1:3000", strings.TrimPrefix(app.URL, "http://"), "listen 80", "listen "+front, "bind :80", "bind "+front,
				"http://:80", "http://"+front)
			save(dir, "stint.lua", places.Replace(blocks["lua"]))
			run(t, p.program, p.write(dir, places.Replace(blocks[p.block]))...)
			until(t, func() bool {
				c, err := net.Dial("tcp", front)
				if err == nil {
					c.Close()
				}
				return err == nil
			})
			for i, want := range []string{"200 POST /a/b?c=d x=1", "200 POST /a/b?c=d x=1", "429 3600"} {
				if got := post(t, front); got != want {
					t.Errorf("request %d: %q, not %q", i+1, got, want)
				}
			}
			suspend(t, stint.Process)
			if got := post(t, front); got != "200 POST /a/b?c=d x=1" {
				t.Errorf("while Stint is stopped: %q", got)
			}
			_ = stint.Process.Kill()
			_ = stint.Process.Signal(syscall.SIGCONT)
			_ = stint.Wait()
			start := time.Now()
			if got := post(t, front); got != "200 POST /a/b?c=d x=1" {
				t.Errorf("when Stint is gone: %q", got)
			}
			t.Logf("without Stint a request takes %v", time.Since(start).Round(time.Millisecond))
			if took := time.Since(start); took > p.most {
				t.Errorf("a request takes %v without Stint", took)
			}
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
	response, err := (&http.Client{Timeout: 20 * time.Second}).Do(r)
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

// startWithHTTP starts a server with an HTTP port.
func startWithHTTP(t *testing.T, binary, door string) *exec.Cmd {
	stint := run(t, binary, "server", "--listen", "127.0.0.1:0", "--http-listen", door, "--admin=")
	until(t, func() bool {
		response, err := http.Get("http://" + door + "/readyz")
		if err == nil {
			response.Body.Close()
		}
		return err == nil && response.StatusCode == http.StatusOK
	})
	return stint
}

// run starts a program, which the end of the test ends, and shows its output if the test fails.
func run(t *testing.T, program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s: %s", program, &output)
		}
	})
	return cmd
}

// suspend stops a process, and returns when all its threads have stopped: the signal is not answered at once.
func suspend(t *testing.T, process *os.Process) {
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", process.Pid))
		return len(threads) > 0 && !slices.ContainsFunc(threads, func(thread string) bool {
			stat, err := os.ReadFile(thread)
			return err == nil && !strings.Contains(string(stat), ") T ")
		})
	})
}

// until waits for a condition that must come true.
func until(t *testing.T, condition func() bool) {
	for deadline := time.Now().Add(20 * time.Second); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("in vain for 20 s")
		}
	}
}

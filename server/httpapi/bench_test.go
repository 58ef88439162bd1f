package httpapi

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
)

// BenchmarkCheck compares /v1/check with a handler that only answers 200 with as many bytes, on the same kind of
// server.
func BenchmarkCheck(b *testing.B) {
	h := serve(b)
	h.run("RL.POLICY SET api TB u:{} 1000000000 1000000000/s")
	const granted = `{"policy":"api","id":"7"}`
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	answer := []byte(strings.Repeat("x", 131))
	nothing := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(answer) })}
	go func() { _ = nothing.Serve(ln) }()
	b.Cleanup(func() { _ = nothing.Close() })
	const head = "Host: localhost\r\nContent-Type: application/json\r\n"
	post := func(path, body string) string {
		return fmt.Sprintf("POST %s HTTP/1.1\r\n%sContent-Length: %d\r\n\r\n%s", path, head, len(body), body)
	}
	address := strings.TrimPrefix(h.url, "http://")
	b.Run("nothing", func(b *testing.B) { load(b, ln.Addr().String(), post("/", granted)) })
	b.Run("policy", func(b *testing.B) { load(b, address, post("/v1/check", granted)) })
	b.Run("limits", func(b *testing.B) {
		load(b, address, post("/v1/check", `{"limits":[{"algorithm":"TB","key":"k","capacity":1000000000,"rate":1000000000}]}`))
	})
	b.Run("auth", func(b *testing.B) { load(b, address, "GET /v1/auth?policy=api&id=7 HTTP/1.1\r\n"+head+"\r\n") })
}

// load sends a request again and again, on several connections.
func load(b *testing.B, address, request string) {
	b.ReportAllocs()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			b.Error(err)
			return
		}
		defer c.Close()
		in := bufio.NewReader(c)
		for pb.Next() {
			if _, err := c.Write([]byte(request)); err != nil {
				b.Error(err)
				return
			}
			if err := readResponse(in); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// readResponse reads a response whose header has its length.
func readResponse(in *bufio.Reader) error {
	length := 0
	for first := true; ; first = false {
		line, err := in.ReadSlice('\n')
		switch {
		case err != nil:
			return err
		case first && string(line[:12]) != "HTTP/1.1 200":
			return fmt.Errorf("%s", line)
		case len(line) == 2:
			_, err = in.Discard(length)
			return err
		}
		if text, is := strings.CutPrefix(string(line), "Content-Length: "); is {
			_, _ = fmt.Sscan(text, &length)
		}
	}
}

package httpapi

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// An answer to a request that is not read to its end arrives whole, and the connection ends without a reset.
func TestAnswersToUnreadRequestsAreNotLost(t *testing.T) {
	t.Parallel() // it waits
	h := serve(t)
	const head = "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for name, step := range map[string]struct{ request, want string }{
		"a header just too long":      {head + "X: " + strings.Repeat("x", 16_500) + "\r\n\r\n", "431"},
		"a header of a megabyte":      {head + "X: " + strings.Repeat("x", 1<<20) + "\r\n\r\n", "431"},
		"a body of 8 MB":              {head + "Content-Length: 8000000\r\n\r\n" + strings.Repeat(" ", 8_000_000), "413"},
		"a chunked body of 8 MB":      {head + "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("10000\r\n"+strings.Repeat(" ", 1<<16)+"\r\n", 122) + "0\r\n\r\n", "413"},
		"no request, and more of it":  {strings.Repeat("\x16\x03\x01 hello\r\n", 20_000), "400"},
		"no Host, and more of it":     {"POST /v1/check HTTP/1.1\r\nContent-Length: 200000\r\n\r\n" + strings.Repeat("x", 200_000), "400"},
		"a coding, and more of it":    {head + "Transfer-Encoding: gzip\r\n\r\n" + strings.Repeat("x", 200_000), "501"},
		"a refusal, and more of it":   {strings.Replace(head, "localhost", "example.com", 1) + "Content-Length: 900000\r\n\r\n" + strings.Repeat("x", 900_000), "403"},
		"a wrong path, and a request": {"GET /no HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" + strings.Repeat(head, 5000), "404"},
	} {
		c, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(giveUp))
		if _, err := c.Write([]byte(step.request)); err != nil {
			t.Errorf("%s: the request: %v", name, err)
		}
		text, err := io.ReadAll(c)
		if !strings.HasPrefix(string(text), fmt.Sprintf("HTTP/1.1 %s ", step.want)) || err != nil {
			t.Errorf("%s: %.60q, %v, want %s", name, text, err, step.want)
		}
	}
}

package main

import (
	"bufio"
	"strings"
	"testing"
)

// Only status 200 counts as granted, and a response is read to its end.
func TestReadResponse(t *testing.T) {
	in := bufio.NewReader(strings.NewReader("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\nX: y\r\nContent-Length: 0\r\n\r\nHTTP/1.1 429 Too Many Requests\r\n\r\n"))
	for i, wantError := range []bool{false, false, true} {
		if err := readResponse(in); (err != nil) != wantError {
			t.Errorf("response %d: %v", i, err)
		}
	}
	for _, bad := range []string{"", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na"} {
		if readResponse(bufio.NewReader(strings.NewReader(bad))) == nil {
			t.Errorf("%q is a response", bad)
		}
	}
}

// The servers that only answer are asked as Stint is.
func TestServersThatOnlyAnswer(t *testing.T) {
	s, err := listen("127.0.0.1:0", "127.0.0.1:0")
	wantError(t, err, "")
	go func() { _ = s.run() }()
	for _, connect := range []connector{httpSenders(s.web.Addr().String()), grpcSenders(s.rpc.Addr().String())} {
		send, err := connect(t.Context(), 0)
		wantError(t, err, "")
		var to tally
		wantError(t, send([]int{7, 8}, &to), "")
		if to.granted != 2 {
			t.Errorf("%+v", to)
		}
	}
}

package main

import (
	"bufio"
	"errors"
	"strings"
	"testing"
	"time"
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

// With a rate, as many requests are sent as are due; an error of one ends the load.
func TestRate(t *testing.T) {
	l := load{workers: 4, keys: 10, perSecond: 1000, duration: 50 * time.Millisecond}
	asked := make([]int, l.workers)
	r, err := l.run(func(worker int) (asker, error) {
		return func(id int) error {
			if id < 0 || id >= l.keys {
				t.Errorf("id %d", id)
			}
			asked[worker]++
			return nil
		}, nil
	})
	if err != nil || r.Requests < 50 || r.Requests > 52 || asked[0]+asked[1]+asked[2]+asked[3] != r.Requests {
		t.Errorf("%+v, %v, %v", r, asked, err)
	}
	denied := errors.New("denied")
	if _, err := l.run(func(int) (asker, error) { return func(int) error { return denied }, nil }); !errors.Is(err, denied) {
		t.Error(err)
	}
}

// The servers that only answer are asked as Stint is.
func TestServersThatOnlyAnswer(t *testing.T) {
	const web, rpc = "127.0.0.1:0", "127.0.0.1:0"
	s, err := listen(web, rpc)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.run() }()
	for _, connect := range []func(int) (asker, error){httpAskers(s.web.Addr().String()), grpcAskers(s.rpc.Addr().String())} {
		ask, err := connect(0)
		if err == nil {
			err = ask(7)
		}
		if err != nil {
			t.Error(err)
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"strconv"
	"time"
)

// giveUp bounds a whole load.
const giveUp = 5 * time.Minute

// httpAskers asks POST /v1/check, on one connection for each worker.
func httpAskers(address string) func(int) (asker, error) {
	return func(int) (asker, error) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return nil, err
		}
		_ = c.SetDeadline(time.Now().Add(giveUp))
		in, out := bufio.NewReader(c), []byte(nil)
		return func(id int) error {
			body := fmt.Sprintf(`{"policy":"doors","id":"%012d"}`, id)
			out = fmt.Appendf(out[:0], "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
			if _, err := c.Write(out); err != nil {
				return err
			}
			return readResponse(in)
		}, nil
	}
}

var (
	granted     = []byte("HTTP/1.1 200 ")
	lengthField = []byte("Content-Length: ")
)

// readResponse reads a response with a length, and wants status 200.
func readResponse(in *bufio.Reader) error {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, granted) {
		return fmt.Errorf("answered %q, not 200", line)
	}
	length := -1
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if text, is := bytes.CutPrefix(line, lengthField); is {
			if length, err = strconv.Atoi(string(text)); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return fmt.Errorf("a response without Content-Length")
	}
	_, err = in.Discard(length)
	return err
}

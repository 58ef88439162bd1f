package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"strconv"
)

// httpSenders send POST /v1/check about an id.
func httpSenders(address string) connector {
	return func(ctx context.Context, _ int) (sender, error) {
		c, err := dialUntil(ctx, address)
		if err != nil {
			return nil, err
		}
		in, out := bufio.NewReader(c), []byte(nil)
		return func(ids []int, to *tally) error {
			for _, id := range ids {
				body := fmt.Sprintf(`{"policy":"doors","id":"%012d"}`, id)
				out = fmt.Appendf(out[:0], "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
				if _, err := c.Write(out); err != nil {
					return err
				}
				if err := readResponse(in); err != nil {
					return err
				}
				to.granted++
			}
			return nil
		}, nil
	}
}

var (
	status200   = []byte("HTTP/1.1 200 ")
	lengthField = []byte("Content-Length: ")
)

// readResponse reads a response with a length, and wants status 200.
func readResponse(in *bufio.Reader) error {
	line, err := in.ReadSlice('\n')
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(line, status200) {
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

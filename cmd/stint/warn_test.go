package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A server posts a warning to its webhook, again if that fails, and keeps on disk that it was given.
func TestWarnWebhook(t *testing.T) {
	t.Parallel() // it waits
	posts := make(chan string, 10)
	var attempts atomic.Int32
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if attempts.Add(1) == 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		posts <- r.URL.Path + " " + r.Header.Get("Idempotency-Key") + " " + string(body)
	}))
	defer hook.Close()
	dir := t.TempDir()
	run := func(t *testing.T, commands ...string) {
		conn, err := net.Dial("tcp", serve(t, "--dir", dir, "--durability", "always", "--warn-webhook", hook.URL+"/warned"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		in := bufio.NewReader(conn)
		for _, command := range commands {
			fmt.Fprintf(conn, "%s\r\n", command)
			for lines := 1; lines > 0; lines-- {
				line, err := in.ReadString('\n')
				if err != nil || strings.HasPrefix(line, "-") {
					t.Fatalf("%s: %s %v", command, line, err)
				}
				if n := 0; strings.HasPrefix(line, "*") {
					fmt.Sscanf(line, "*%d", &n)
					lines += n
				}
			}
		}
	}
	t.Run("first", func(t *testing.T) {
		run(t, "FW.ACQUIRE a 10 87600h 8 WARN 80%")
		if got := <-posts; !strings.HasPrefix(got, "/warned ") || strings.Count(got, strings.Fields(got)[1]) != 2 || !strings.Contains(got, `"key":"a","algorithm":"fixed-window","limit":10,"used":8,"warn":"80%"`) {
			t.Error(got)
		}
	})
	t.Run("restarted", func(t *testing.T) {
		run(t, "FW.ACQUIRE a 10 87600h WARN 80%", "RL.REFUND a 8", "FW.ACQUIRE a 10 87600h 8 WARN 80%", "FW.ACQUIRE b 10 87600h 8 WARN 80%")
		if got := <-posts; !strings.Contains(got, `"key":"b"`) {
			t.Error(got)
		}
	})
}

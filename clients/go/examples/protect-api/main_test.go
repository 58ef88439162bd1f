package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/internal/servertest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	servertest.Clean()
	os.Exit(code)
}

// TestAPI: through a socket, as three clients and two copies of the program.
func TestAPI(t *testing.T) {
	server, err := servertest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	var copies []string
	for range 2 {
		limiter := stint.Connect([]string{server.Address}, stint.FailClosed(), stint.Timeout(30*time.Second))
		defer limiter.Close()
		site := httptest.NewServer(api(limiter))
		defer site.Close()
		copies = append(copies, site.URL)
	}
	get := func(n int, path, from, key string) (status int, answer string) {
		r, _ := http.NewRequest("GET", copies[n%2]+path, nil)
		r.Header.Set("X-Forwarded-For", from)
		r.Header.Set("X-Api-Key", key)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(body)
	}
	for n := range 100 {
		if status, _ := get(n, "/health", "192.0.2.1", ""); status != 200 {
			t.Fatalf("/health: %d", status)
		}
	}
	// Each request comes from another address of one customer, so that only the daily quota of 50 counts.
	served := 0
	for n := range 60 {
		if status, _ := get(n, "/hello", fmt.Sprintf("198.51.100.%d", n), "key-of-initech"); status == 200 {
			served++
		}
	}
	if served != 50 {
		t.Errorf("the customer was served %d times, want 50", served)
	}
	if status, _ := get(0, "/hello", "198.51.100.200", "key-of-acme"); status != 200 {
		t.Errorf("another customer: %d", status)
	}
	// One address without a key: 20 a day, however long it takes; and made-up keys do not help. Meanwhile the peak
	// limit denies some.
	served = 0
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		status, answer := get(served, "/hello", "203.0.113.9", fmt.Sprint("made up ", served))
		if status == 200 {
			served++
		}
		if status == 429 && strings.Contains(answer, `"violated-policies":["daily"]`) {
			break
		}
	}
	if served != 20 {
		t.Errorf("an address was served %d times before the daily limit denied it", served)
	}
}

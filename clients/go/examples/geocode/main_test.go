package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
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

// TestGeocode: the workers of two processes share a queue in which each request has to wait 20 ms for the one before
// it. The provider refuses those that come too early. On a busy machine they come later.
func TestGeocode(t *testing.T) {
	server, err := servertest.Start()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Kill()
	const turn = 20 * time.Millisecond
	begun := time.Now()
	var mu sync.Mutex
	came, refused := 0, 0
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		earliest := time.Duration(came-1) * turn // one turn is left for clocks that differ a little
		came++
		if time.Since(begun) < earliest {
			refused++
			w.WriteHeader(429)
			return
		}
		fmt.Fprintf(w, "somewhere near %s\n", r.URL.Query().Get("q"))
	}))
	defer provider.Close()
	const each = 60
	var both sync.WaitGroup
	var printed [2]strings.Builder
	for i := range printed {
		both.Go(func() {
			limiter := stint.Connect([]string{server.Address}, stint.FailClosed(), stint.Timeout(30*time.Second))
			defer limiter.Close()
			var lines strings.Builder
			for n := range each {
				fmt.Fprintf(&lines, "%d High Street\n", i*each+n)
			}
			if err := geocode(t.Context(), limiter, stint.Per(1, turn).Queue(100), provider.URL, strings.NewReader(lines.String()), &printed[i]); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	answers := printed[0].String() + printed[1].String()
	for n := range 2 * each {
		if want := fmt.Sprintf("%d High Street\tsomewhere near %d High Street\n", n, n); strings.Count(answers, want) != 1 {
			t.Errorf("%d High Street was not answered once", n)
		}
	}
	if refused != 0 || came != 2*each {
		t.Errorf("%d requests, %d of them refused", came, refused)
	}
}

// TestWithoutStint: nothing is sent.
func TestWithoutStint(t *testing.T) {
	nowhere := servertest.Reserved(t)
	provider := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") }))
	defer provider.Close()
	limiter := stint.Connect([]string{nowhere}, stint.FailClosed())
	defer limiter.Close()
	var printed strings.Builder
	if err := geocode(t.Context(), limiter, stint.PerMinute(980).Queue(100), provider.URL, strings.NewReader("1 High Street\n"), &printed); err != nil {
		t.Error(err)
	}
	if !strings.Contains(printed.String(), "not found") {
		t.Errorf("printed %q", printed.String())
	}
}

// Protect-api is an HTTP API that allows each client 5 requests a second, bursts of 10, and the daily number of its
// plan, for any number of copies of the API.
//
//	go run ./protect-api -listen 127.0.0.1:8080 -stint 127.0.0.1:6379
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"strings"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/clientip"
	"github.com/stintdb/stint/clients/go/httplimit"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address to serve on")
	addresses := flag.String("stint", "127.0.0.1:6379", "addresses of Stint's nodes, with commas between")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	// Usually four copies run, so without Stint each keeps to a quarter of the limits.
	limiter := stint.Connect(strings.Split(*addresses, ","), stint.LocalShare(1.0/4))
	defer limiter.Close()

	server := newServer(*listen, api(limiter))
	go func() {
		<-ctx.Done()
		shutdown, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		server.Shutdown(shutdown)
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

// newServer is a server with timeouts that close the connections of slow clients. Longer bodies and downloads need
// other values.
func newServer(listen string, handler http.Handler) *http.Server {
	return &http.Server{
		Addr:              listen,
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      15 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
	}
}

// plans are the customers' requests a day, by API key. A real program would have them in a database.
var plans = map[string]int64{"key-of-acme": 100_000, "key-of-initech": 50}

// api is the API with its limits around it.
func api(limiter *stint.Limiter) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "hello") })
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintln(w, "ok") })

	// Load balancers in these networks send the client's address in X-Forwarded-For.
	clients := clientip.Resolver{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8")}}
	notHealth := httplimit.Skip(httplimit.SkipPaths("/health"))

	customer := httplimit.ByUser(func(r *http.Request) string {
		if key := r.Header.Get("X-Api-Key"); plans[key] > 0 {
			return key
		}
		return ""
	})
	perDay := httplimit.LimitFor(func(r *http.Request) stint.Limit {
		return stint.Window(max(20, plans[r.Header.Get("X-Api-Key")]), stint.Day)
	})
	// Customers are counted by their keys, everybody else by address and with 20 a day.
	quota := httplimit.New(limiter, "daily", stint.Window(20, stint.Day), httplimit.FirstOf(customer, httplimit.ByIP(clients)), perDay, notHealth)
	peak := httplimit.New(limiter, "peak", stint.PerSecond(5).Burst(10), httplimit.ByIP(clients), notHealth)
	return peak.Handler(quota.Handler(mux))
}

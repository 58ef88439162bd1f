// Geocode looks up addresses at a provider that allows 1000 requests a minute in all, with 30 workers in each of any
// number of processes. It reads one address a line and prints the provider's answers. No process should get a 429; the
// recipe docs/recipes/worker-pool.md explains why the limit is 980 and not 1000.
//
//	go run ./geocode -provider https://geocoder.example/lookup -stint 127.0.0.1:6379 < addresses.txt
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	stint "github.com/stintdb/stint/clients/go"
	"github.com/stintdb/stint/clients/go/httppace"
)

const workers = 30

func main() {
	provider := flag.String("provider", "", "URL of the provider; the address is added as the parameter q")
	addresses := flag.String("stint", "127.0.0.1:6379", "addresses of Stint's nodes, with commas between")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	// The quota belongs to the provider: without Stint, nothing is sent.
	limiter := stint.Connect(strings.Split(*addresses, ","), stint.FailClosed(), stint.Timeout(time.Second))
	defer limiter.Close()
	if err := geocode(ctx, limiter, stint.PerMinute(980).Queue(1000), *provider, os.Stdin, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// geocode looks up every line and prints the answers as they come.
func geocode(ctx context.Context, limiter *stint.Limiter, limit stint.Limit, provider string, lines io.Reader, out io.Writer) error {
	client := &http.Client{Transport: &httppace.Transport{
		Limiter: limiter,
		Limit:   limit,
		Key:     func(*http.Request) string { return "geocoder" },
	}}
	work := make(chan string)
	var pool sync.WaitGroup
	var printing sync.Mutex
	for range workers {
		pool.Go(func() {
			for address := range work {
				answer, err := lookUp(ctx, client, provider, address)
				if err != nil {
					answer = "not found: " + err.Error()
				}
				printing.Lock()
				fmt.Fprintf(out, "%s\t%s\n", address, answer)
				printing.Unlock()
			}
		})
	}
	scanner := bufio.NewScanner(lines)
	for scanner.Scan() && ctx.Err() == nil {
		work <- scanner.Text()
	}
	close(work)
	pool.Wait()
	return scanner.Err()
}

func lookUp(ctx context.Context, client *http.Client, provider, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, provider+"?q="+url.QueryEscape(address), nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the provider answered %s", response.Status)
	}
	answer, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	return strings.TrimSpace(string(answer)), err
}

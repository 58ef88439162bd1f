// Budget makes 200 calls of a language model at the same time, reserves the most that each may cost, and settles with
// its true cost. The recipe docs/recipes/budgets.md has the policy:
//
//	redis-cli RL.POLICY SET budget FW tenant:{} 500000000 @month HISTORY 12 WARN 80% \
//		FW user:{}:{user} 50000000 @month HISTORY 12 WARN 80%
//	go run ./budget -stint 127.0.0.1:6379
package main

import (
	"context"
	"crypto/rand"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	stint "github.com/stintdb/stint/clients/go"
)

func main() {
	addresses := flag.String("stint", "127.0.0.1:6379", "addresses of Stint's nodes, with commas between")
	flag.Parse()
	limiter := stint.Connect(strings.Split(*addresses, ","), stint.FailClosed())
	defer limiter.Close()
	if err := run(context.Background(), limiter, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// tokens are the units of a call by their kinds.
type tokens = map[string]int64

// askTheModel stands for a model, which reports its usage.
func askTheModel(string) (text string, used tokens, err error) {
	return "hello", tokens{"input": 2000, "output": 3500}, nil
}

type gateway struct {
	limiter *stint.Limiter
	prices  *stint.Prices
	log     *log.Logger
}

// answer answers a prompt. Text is "" if a budget denied the call.
func (g *gateway) answer(ctx context.Context, tenant, user, prompt string) (text string, err error) {
	most, err := g.prices.Cost("large", tokens{"input": 8000, "output": 8400}) // $0.15
	if err != nil {
		return "", err
	}
	id := "call:" + rand.Text()
	result, err := g.limiter.CheckWith(ctx, "budget", tenant, stint.Request{
		Tokens: most, ID: id, Remember: 10 * time.Minute, Fields: map[string]string{"user": user}, ShowWarn: true,
	})
	if result.Source != stint.Server {
		go g.limiter.Cancel(context.WithoutCancel(ctx), id) // it may have been granted, and the reply was lost
	}
	if err != nil || !result.Allowed { // until result.RetryAfter has passed
		return "", err
	}
	if slices.ContainsFunc(result.Limits, func(s stint.LimitState) bool { return s.Warn }) {
		g.log.Printf("80 %% of a budget of %s are used", tenant)
	}
	text, used, err := askTheModel(prompt)
	ctx = context.WithoutCancel(ctx) // the caller may have left
	if err != nil {
		_, cancelErr := g.limiter.Cancel(ctx, id)
		return "", fmt.Errorf("%w, and what was reserved was given back: %v", err, cancelErr)
	}
	cost, err := g.prices.Cost("large", used)
	if err == nil {
		_, err = g.limiter.Settle(ctx, id, cost)
	}
	return text, err
}

func run(ctx context.Context, limiter *stint.Limiter, out io.Writer) error {
	prices, err := stint.NewPrices(map[string]map[string]string{"large": {"input": "3", "output": "15"}}) // dollars for a million tokens
	if err != nil {
		return err
	}
	g := &gateway{limiter, prices, log.New(out, "", 0)}
	var calls sync.WaitGroup
	texts, errs := make([]string, 200), make([]error, 200)
	for i := range texts {
		calls.Go(func() { texts[i], errs[i] = g.answer(ctx, "acme", "ann", "hi") })
	}
	calls.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	denials := len(slices.DeleteFunc(texts, func(text string) bool { return text != "" }))
	fmt.Fprintf(out, "%d answers, %d denials\n", len(errs)-denials, denials)
	usages, err := limiter.PolicyUsage(ctx, "budget", "acme", map[string]string{"user": "ann"})
	for _, u := range usages {
		fmt.Fprintf(out, "%s: $%.4f of $%.2f\n", u.Key, float64(u.Used)/1e6, float64(u.Limit)/1e6)
	}
	return err
}

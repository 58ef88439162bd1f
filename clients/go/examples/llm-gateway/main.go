// Llm-gateway is a proxy in front of a language model with the chat API of OpenAI (vLLM and Ollama have it too). It
// reserves the most tokens that a call may cost, streams the answer, and settles with the usage that the model reports
// at its end. The recipe docs/recipes/llm-tokens.md explains the policy:
//
//	redis-cli RL.POLICY SET llm TB requests:{tenant}:{} 20 20/m COST 1 TB tenant:{tenant} 100000 100000/m \
//		TB model:{model} 1000000 1000000/m CC calls:{tenant} 5 10m {call}
//	go run ./llm-gateway -listen 127.0.0.1:8080 -upstream http://127.0.0.1:11434 -stint 127.0.0.1:6379
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"time"

	stint "github.com/stintdb/stint/clients/go"
)

const (
	longestCall   = 10 * time.Minute // after it, a reservation can no longer be settled
	longestAnswer = 100_000          // tokens
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8080", "address to serve on")
	upstream := flag.String("upstream", "http://127.0.0.1:11434", "URL of the model's server")
	addresses := flag.String("stint", "127.0.0.1:6379", "addresses of Stint's nodes, with commas between")
	flag.Parse()

	// Budgets cost money: without Stint, nothing is sent. The timeout leaves time to ask again while a cluster elects a
	// leader.
	limiter := stint.Connect(strings.Split(*addresses, ","), stint.FailClosed(), stint.Timeout(5*time.Second))
	defer limiter.Close()
	server := &http.Server{Addr: *listen, Handler: newGateway(limiter, *upstream), ReadTimeout: 15 * time.Second, WriteTimeout: longestCall}
	log.Fatal(server.ListenAndServe())
}

// callers are the customers' API keys. A real program would have them in a database.
var callers = map[string]struct{ tenant, user string }{
	"key-of-ann": {"acme", "ann"}, "key-of-bob": {"acme", "bob"}, "key-of-eve": {"globex", "eve"},
}

// chat is a request to the model, with the fields that the gateway lets through.
type chat struct {
	Model     string          `json:"model"`
	Messages  json.RawMessage `json:"messages"`
	MaxTokens int64           `json:"max_tokens"`
	Stream    bool            `json:"stream"`
	Options   struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// most is the largest number of tokens that the call may cost: a token of the prompt has at least one byte.
func (c *chat) most() int64 { return int64(len(c.Messages)) + c.MaxTokens }

type gateway struct {
	limiter  *stint.Limiter
	upstream string
}

func newGateway(limiter *stint.Limiter, upstream string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /v1/chat/completions", &gateway{limiter, upstream})
	return mux
}

func (g *gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	caller, known := callers[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if !known {
		http.Error(w, "unknown API key", http.StatusUnauthorized)
		return
	}
	var call chat
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	body.DisallowUnknownFields()
	if err := body.Decode(&call); err != nil || call.Model == "" || call.MaxTokens < 1 || call.MaxTokens > longestAnswer || !call.Stream {
		http.Error(w, "the request needs model, messages, max_tokens and stream, and nothing else", http.StatusBadRequest)
		return
	}
	id := "call:" + caller.tenant + ":" + rand.Text()
	result, err := g.limiter.CheckWith(r.Context(), "llm", caller.user, stint.Request{
		Tokens: call.most(), ID: id, Remember: longestCall,
		Fields: map[string]string{"tenant": caller.tenant, "model": call.Model, "call": id},
	})
	ctx := context.WithoutCancel(r.Context()) // the caller may have left
	if result.Source != stint.Server {
		go g.limiter.Cancel(ctx, id) // it may have been granted, and the reply was lost
	}
	if err != nil {
		log.Print(err)
		http.Error(w, "the call cannot be checked", http.StatusInternalServerError)
		return
	}
	if !result.Allowed {
		deny(w, result)
		return
	}
	used, answered, forwardErr := g.forward(w, r, &call)
	if answered {
		_, err = g.limiter.Settle(ctx, id, used)
	} else {
		_, err = g.limiter.Cancel(ctx, id)
	}
	if err != nil {
		log.Printf("%s stays reserved: %v", id, err)
	}
	if forwardErr != nil {
		log.Printf("%s: %v", id, forwardErr)
		if answered {
			panic(http.ErrAbortHandler) // so that the caller does not take a part of an answer for all of it
		}
	}
}

// deny says when to try again, and which limit denied.
func deny(w http.ResponseWriter, result stint.MultiResult) {
	if result.RetryAfter != stint.Never {
		w.Header().Set("Retry-After", fmt.Sprint(int64((result.RetryAfter+time.Second-1)/time.Second)))
	}
	if result.Source != stint.Server {
		http.Error(w, "the limits cannot be checked at present", http.StatusServiceUnavailable)
		return
	}
	http.Error(w, fmt.Sprintf("limit %d of the policy is reached", result.Binding), http.StatusTooManyRequests)
}

// forward sends the call to the model and passes the answer on as it comes. It returns the number of tokens used, the
// most if the model did not report it, and whether the model began to answer.
func (g *gateway) forward(w http.ResponseWriter, r *http.Request, call *chat) (used int64, answered bool, err error) {
	call.Options.IncludeUsage = true
	body, err := json.Marshal(call)
	if err != nil {
		return 0, false, err
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, g.upstream+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return 0, false, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		http.Error(w, "the model does not answer", http.StatusBadGateway)
		return 0, false, err
	}
	defer response.Body.Close()
	w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
	w.WriteHeader(response.StatusCode)
	if response.StatusCode != http.StatusOK {
		_, err = io.Copy(w, response.Body)
		return 0, false, err
	}
	used, err = stream(w, response.Body, call.most())
	return used, true, err
}

// stream passes on one event at a time. The event with the usage comes last.
func stream(w http.ResponseWriter, answer io.Reader, used int64) (int64, error) {
	lines := bufio.NewReader(answer)
	for {
		line, err := lines.ReadBytes('\n')
		var event struct {
			Usage *struct {
				Total int64 `json:"total_tokens"`
			} `json:"usage"`
		}
		data, _ := bytes.CutPrefix(line, []byte("data: "))
		if json.Unmarshal(data, &event) == nil && event.Usage != nil {
			used = event.Usage.Total
		}
		if _, err := w.Write(line); err != nil {
			return used, err
		}
		_ = http.NewResponseController(w).Flush()
		if err == io.EOF {
			return used, nil
		}
		if err != nil {
			return used, err
		}
	}
}

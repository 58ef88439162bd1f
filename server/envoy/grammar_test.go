package envoy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	extension "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"

	"github.com/stintdb/stint/server/servertest"
)

// A word of the grammar in any text of a request is ordinary data: the answers, up to a denial, are the same as for a
// word that no command knows.
func TestNoTextIsAWordOfTheGrammar(t *testing.T) {
	h := newHost(t, nil)
	client := h.client()
	for _, request := range []string{"shop table=WORD", "shop 2@table=WORD", "shop 0@table=WORD", "stint bucket=WORD window=WORD", "stint gcra=WORD", "stint plan=WORD", "stint 0@plan=WORD",
		"stint tenant=WORD,plan=WORD", "WORD bucket=a", "stint WORD=a", "stint tenant=a,WORD=b"} {
		want := h.answersTo(client, request, "zqx")
		for _, word := range servertest.GrammarWords() {
			if got := h.answersTo(client, request, word); got != want {
				t.Errorf("%s with %q: %s, and with another word %s", request, word, got, want)
			}
		}
	}
}

// answersTo returns the answers of a new server to a request that is sent four times.
func (h *host) answersTo(client ratelimit.RateLimitServiceClient, request, word string) string {
	for _, command := range []string{"FLUSHALL", "RL.POLICY SET plans TB plan:{} 2 1/h", "RL.POLICY SET fields TB {tenant}:{} 2 1/h"} {
		h.do(command)
	}
	in := parse(h, request)
	put := func(text string) string { return strings.ReplaceAll(text, "WORD", word) }
	in.Domain = put(in.Domain)
	for _, d := range in.Descriptors {
		for i, e := range d.Entries {
			d.Entries[i] = &extension.RateLimitDescriptor_Entry{Key: put(e.Key), Value: put(e.Value)}
		}
	}
	var all []string
	for range 4 {
		out, err := client.ShouldRateLimit(context.Background(), in)
		if err != nil {
			h.Fatal(request, word, err)
		}
		all = append(all, show(out))
	}
	return strings.Join(all, ", ")
}

// The same holds for Kuadrant's calls, made one after the other.
func TestNoTextIsAWordOfTheGrammarForKuadrant(t *testing.T) {
	h := newHost(t, nil)
	c, ctx := h.kuadrant(), context.Background()
	answers := func(request, word string) string {
		for _, command := range []string{"FLUSHALL", "RL.POLICY SET plans TB plan:{} 9 1/h", "RL.POLICY SET fields TB {tenant}:{} 9 1/h"} {
			h.do(command)
		}
		in := parse(h, request)
		for _, d := range in.Descriptors {
			for i, e := range d.Entries {
				d.Entries[i] = &extension.RateLimitDescriptor_Entry{Key: e.Key, Value: strings.ReplaceAll(e.Value, "WORD", word)}
			}
		}
		before, err1 := c.Check(ctx, in)
		code, id, err2 := c.Reserve(ctx, in, 2, 0)
		released, err3 := c.Commit(ctx, in, id, 1)
		_, err4 := c.Commit(ctx, in, word, 1)
		_, err5 := c.Report(ctx, in)
		after, err6 := c.Check(ctx, in)
		if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
			t.Fatalf("%s with %q: %v", request, word, err)
		}
		return fmt.Sprint(show(before), " ", code, " ", released, " ", show(after))
	}
	for _, request := range []string{"shop table=WORD", "stint window=WORD", "stint gcra=WORD", "stint tenant=WORD,plan=WORD"} {
		want := answers(request, "zqx")
		for _, word := range servertest.GrammarWords() {
			if got := answers(request, word); got != want {
				t.Errorf("%s with %q: %s, and with another word %s", request, word, got, want)
			}
		}
	}
}

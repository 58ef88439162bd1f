package store

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/transaction"
)

// Messages are handed over once, in order, if the transaction is kept.
func TestTxPublishes(t *testing.T) {
	var published []string
	s := newTxStore(t, Config{Shards: 64, Publish: func(channel, text []byte) int {
		published = append(published, string(channel)+" "+string(text))
		return 2
	}})
	wantPublished := func(want ...string) {
		t.Helper()
		if !slices.Equal(published, want) {
			t.Errorf("published %q, want %q", published, want)
		}
		published = nil
	}
	op := txOf("a", "set a 1, publish c x, publish d y") // which takes more locks than the declared key's, so that it runs twice
	var res engine.Result
	if s.TryReadOnly(epoch, &op, &res) {
		t.Error("answered as if nothing would change")
	}
	wantPublished()
	if res := ask(s, epoch, op); res.Remaining != 4 {
		t.Errorf("%d receivers", res.Remaining)
	}
	wantPublished("c x", "d y")
	if s.TryReadOnly(epoch, &engine.Op{Verb: engine.Command, Args: txOf("", "publish c x").Args, KeyFrom: 1}, &res) {
		t.Error("a message alone was answered as if nothing would change")
	}
	if res := ask(s, epoch, txOf("", "publish c x")); res.Granted != 0 {
		t.Error("a message alone would wait for the disk")
	}
	wantPublished("c x")

	s.SetMaxBytes(1)
	if res := ask(s, epoch, txOf("", "publish c x, set new "+strings.Repeat("x", 100_000))); res.Status != engine.OutOfRoom || res.Remaining != 0 {
		t.Errorf("status %d, %d receivers", res.Status, res.Remaining)
	}
	wantPublished()
}

// A transaction publishes a bounded number of messages, of bounded size.
func TestTxPublishesLittle(t *testing.T) {
	messages := 0
	s := newTxStore(t, Config{Shards: 4, Publish: func(_, _ []byte) int { messages++; return 0 }})
	many := strings.Repeat(", publish c x", transaction.MaxPublished+1)[2:]
	if got, want := replyTo(t, s, epoch, "", many), strings.Repeat("true ", transaction.MaxPublished)+"false"; got != want {
		t.Errorf("%s", got)
	}
	half := strings.Repeat("x", transaction.MaxPublishedBytes/2)
	if got := replyTo(t, s, epoch, "", fmt.Sprintf("publish c %s, publish c %s, publish c %s", half[1:], half, half[1:])); got != "true false true" {
		t.Errorf("%s", got)
	}
	if messages != transaction.MaxPublished+2 {
		t.Errorf("%d messages", messages)
	}
	if s = newTxStore(t, Config{Shards: 4}); replyTo(t, s, epoch, "", "publish c x") != "true" {
		t.Error("not published to nobody")
	}
}

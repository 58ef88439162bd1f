package conn

import (
	"testing"

	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/conn/share"
	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/pubsub"
)

// The channel of a publisher is known although its input is gone when the decision comes.
func TestPublisherIsKnownAfterALaterDecision(t *testing.T) {
	for _, command := range []string{"PUBLISH news text", "EVAL return(1) 1 news"} {
		h := newEnv(t, store.New(store.Config{Shards: 16}), clock.New(0))
		h.Channels = &pubsub.Channels{}
		var p share.Passes
		reader, _ := newPassSession(t, h, &p)
		reader.ServeInput(frames("SUBSCRIBE news"))
		h.Decider = later{h.Decider.(*decider.Local)}
		woken := make(chan struct{}, 10)
		s := h.NewSession("127.0.0.1:1", "server", func() { woken <- struct{}{} })
		s.Attach(&takingLink{}, nil)
		input := frames(command)
		s.ServeInput(input)
		for i := range input {
			input[i] = 'x' // the next bytes of the network
		}
		<-woken
		s.ServeInput(nil)
		if to := s.subscriptions.publishesTo; to != "news" {
			t.Errorf("after %s the session publishes to %q", command, to)
		}
	}
}

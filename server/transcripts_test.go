package server

import (
	"flag"
	"testing"

	"github.com/stintdb/stint/server/decider"
	"github.com/stintdb/stint/server/transcripttest"
)

var update = flag.Bool("update", false, "write the replies into the transcripts instead of comparing them")

const transcripts = "testdata/transcripts"

func TestTranscripts(t *testing.T) {
	t.Run("session", func(t *testing.T) {
		transcripttest.Play(t, transcripts, *update, func(t *testing.T) transcripttest.Player { return newSessionPlayer(t, 0) })
	})
	if *update {
		return
	}
	t.Run("byte by byte", func(t *testing.T) {
		transcripttest.Play(t, transcripts, false, func(t *testing.T) transcripttest.Player { return newSessionPlayer(t, 1) })
	})
	t.Run("decided later", func(t *testing.T) {
		transcripttest.Play(t, transcripts, false, func(t *testing.T) transcripttest.Player { return newLaterPlayer(t, 0) })
	})
	t.Run("socket", func(all *testing.T) {
		transcripttest.Play(all, transcripts, false, func(t *testing.T) transcripttest.Player { return newSocketPlayer(t, all, nil) })
	})
	t.Run("TLS", func(all *testing.T) {
		transcripttest.Play(all, transcripts, false, func(t *testing.T) transcripttest.Player { return newTLSPlayer(t, all) })
	})
	t.Run("decided later, over a socket", func(all *testing.T) {
		transcripttest.Play(all, transcripts, false, func(t *testing.T) transcripttest.Player {
			return newSocketPlayer(t, all, func(l *decider.Local) decider.Decider { return &laterLocal{Local: l, alone: true} })
		})
	})
}

// newLaterPlayer is a sessionPlayer whose decider finishes later.
func newLaterPlayer(t testing.TB, chunk int) *sessionPlayer {
	p := &sessionPlayer{chunk: chunk, conns: map[string]*pipe{}}
	p.testHost = newHost(t, func(l *decider.Local) decider.Decider {
		p.later = &laterLocal{Local: l}
		return p.later
	})
	return p
}

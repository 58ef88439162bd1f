package raftnode

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/propose"
	"github.com/stintdb/stint/engine"
)

// question is a future that is answered when the test says so: Raft leaves some unanswered once it is shut down.
type question struct {
	raft.ApplyFuture
	answer chan error
}

func (q question) Error() error  { return <-q.answer }
func (q question) Response() any { return nil }

// asking is a proposer that has asked Raft one question.
func asking(q question) (g *Node, p *propose.Proposer, done <-chan error) {
	g = &Node{}
	p = propose.New(propose.Config{
		Apply: func([]byte) raft.ApplyFuture { return q }, Stamp: func() int64 { return 1 },
		CountFailure: func(engine.Status) {}, Outstanding: &g.Outstanding,
	})
	p.Start()
	done = p.AddOther(fsm.KindTick, nil)
	synctest.Wait()
	p.Halt()
	return g, p, done
}

func TestNodeEndsThoughRaftLeavesAQuestionOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := question{answer: make(chan error)}
		g, p, done := asking(open)
		began := time.Now()
		g.LetAnswer(&p.Ended)
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("waited %v for an answer, not a second", waited)
		}
		p.Ended.Wait() // or the test hangs, as Close did

		open.answer <- raft.ErrRaftShutdown
		if err := <-done; !errors.Is(err, raft.ErrRaftShutdown) {
			t.Errorf("the entry ended with %v", err)
		}
	})
}

func TestNodeWaitsForRaftsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answered sync.WaitGroup
		open := question{answer: make(chan error)}
		g, p, done := asking(open)
		answered.Go(func() {
			time.Sleep(300 * time.Millisecond)
			open.answer <- nil
		})

		g.LetAnswer(&p.Ended)
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("the node went on before Raft answered")
		}
		answered.Wait()
	})
}

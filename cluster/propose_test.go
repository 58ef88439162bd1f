package cluster

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

// openQuestion is a future that is answered when the test says so: Raft leaves some unanswered once it is shut down.
type openQuestion struct {
	raft.ApplyFuture
	answer chan error
}

func (q openQuestion) Error() error { return <-q.answer }

// asking is a node of which Raft has been asked one question.
func asking(q openQuestion) (n *Node, done <-chan error) {
	n = &Node{}
	n.proposer = newProposer(func([]byte) raft.ApplyFuture { return q }, func() int64 { return 1 }, nil, &n.asked)
	n.proposer.counts = newCounts()
	n.proposer.ended.Go(n.proposer.run)
	done = n.proposer.addOther(kindTick, nil)
	synctest.Wait()
	n.proposer.halt()
	return n, done
}

func TestNodeEndsThoughRaftLeavesAQuestionOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		question := openQuestion{answer: make(chan error)}
		n, done := asking(question)
		began := time.Now()
		n.letAnswer()
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("waited %v for an answer, not a second", waited)
		}
		n.proposer.ended.Wait() // or the test hangs, as Close did

		question.answer <- raft.ErrRaftShutdown
		if err := <-done; err != raft.ErrRaftShutdown {
			t.Errorf("the entry ended with %v", err)
		}
	})
}

func TestNodeWaitsForRaftsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var answered sync.WaitGroup
		question := openQuestion{answer: make(chan error)}
		n, done := asking(question)
		answered.Go(func() {
			time.Sleep(300 * time.Millisecond)
			question.answer <- nil
		})

		n.letAnswer()
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

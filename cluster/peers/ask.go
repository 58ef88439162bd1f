package peers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/group"
	"github.com/stintdb/stint/cluster/placement"
	"github.com/stintdb/stint/cluster/transport"
)

// ErrNotSent is the error of a request to a node that could not be reached, so the node has not carried it out.
var ErrNotSent = errors.New("the node could not be reached")

// notSent is an error that is [ErrNotSent] too, with another text.
type notSent struct{ error }

func (e notSent) Unwrap() error        { return e.error }
func (e notSent) Is(target error) bool { return target == ErrNotSent }

// call sends one request to the node at an address.
func (s *Statuses) call(ctx context.Context, address string, q request) (a response, err error) {
	conn, _, err := s.conns.Dial(ctx, address, transport.ForRPC)
	if err != nil {
		return a, notSent{err}
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	_ = conn.SetDeadline(time.Now().Add(group.RPCTimeout))
	if err := transport.WriteJSON(conn, q); err != nil {
		return a, err
	}
	err = transport.ReadJSON(conn, &a)
	return a, err
}

// Ask implements [group.Statuses].
func (s *Statuses) Ask(ctx context.Context, address string, q group.Request) (group.Response, error) {
	a, err := s.call(ctx, address, request{Request: q})
	return a.Response, err
}

// AskPledge asks another node to give its pledge, and returns an error unless it has.
func (s *Statuses) AskPledge(ctx context.Context, of raft.Server, to Pledge) error {
	a, err := s.call(ctx, string(of.Address), request{Pledge: &pledgeRequest{Of: of.ID, To: to}})
	if err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	return err
}

// HasLeft reports whether a group's leader says that a replica has left the group for good.
func (s *Statuses) HasLeft(ctx context.Context, number uint32, replica raft.ServerID) bool {
	leader := s.LeaderOf(number)
	if leader.Address == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.MeetEvery)
	defer cancel()
	a, err := s.call(ctx, leader.Address, request{Group: number, Left: replica})
	return err == nil && a.HasLeft
}

// Fetch implements [group.Statuses].
func (s *Statuses) Fetch(ctx context.Context, address string) (group.MemberStatus, error) {
	r, err := s.ask(ctx, address)
	return r.MemberStatus, err
}

// FetchAll implements [group.Statuses].
func (s *Statuses) FetchAll(ctx context.Context, timeout time.Duration) (reports []group.MemberStatus) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var (
		mu    sync.Mutex
		asked sync.WaitGroup
	)
	for _, address := range s.addresses() {
		asked.Go(func() {
			r, err := s.ask(ctx, address)
			s.noteAnswer(address, err)
			if err != nil {
				return
			}
			s.store(r)
			mu.Lock()
			defer mu.Unlock()
			reports = append(reports, r.MemberStatus)
		})
	}
	asked.Wait()
	s.mu.Lock()
	s.asked = true
	s.mu.Unlock()
	return reports
}

// OtherAt implements [group.Statuses].
func (s *Statuses) OtherAt(ctx context.Context, member raft.Server, second string) bool {
	ctx, cancel := context.WithTimeout(ctx, transport.DialTimeout)
	defer cancel()
	at, err := s.Fetch(ctx, string(member.Address))
	if err != nil || at.ID != placement.Node(member.ID) {
		return false
	}
	other, err := s.Fetch(ctx, second)
	return err != nil || other.ID != at.ID || other.Process != at.Process
}

// ask asks the node at an address for its status, once for all groups that want it at the same time.
func (s *Statuses) ask(ctx context.Context, address string) (nodeStatus, error) {
	if s.opt.Groups < 2 {
		return s.fetch(ctx, address)
	}
	return s.fetches.fetch(ctx, address)
}

// fetch asks the node at an address for its status in all its groups.
func (s *Statuses) fetch(ctx context.Context, address string) (r nodeStatus, err error) {
	counts := s.opt.Watched != nil && s.opt.Watched()
	r.asked = time.Now()
	a, err := s.call(ctx, address, request{Status: &statusRequest{counts}})
	if err == nil && a.Status == nil {
		err = fmt.Errorf("%s: %s", address, a.Error)
	}
	if err != nil {
		return r, err
	}
	r.MemberStatus, r.keyGroups = *a.Status, a.KeyGroups
	r.Address, r.At = address, time.Now()
	for number, own := range r.keyGroups {
		own.Address, own.At = r.Address, r.At
		r.keyGroups[number] = own
	}
	return r, nil
}

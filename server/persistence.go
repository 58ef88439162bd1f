package server

import (
	"time"

	"github.com/stintdb/stint/internal/persistencestatus"
	"github.com/stintdb/stint/server/command"
)

// Persistence is the server's view of snapshots and the journal.
type Persistence interface {
	// Save starts a snapshot, after one that is being written; done receives its outcome.
	Save() (done <-chan error)
	// SaveAlone starts a snapshot. It fails if one is being written.
	SaveAlone() error
	// SkipLastSnapshot has none written at the end.
	SkipLastSnapshot()
	Status() persistencestatus.Status
}

// Save implements [command.Server].
func (s *Server) Save(done func(error)) error {
	if s.env.Cluster != nil {
		s.env.Cluster.Snapshot(func(err error) {
			if err != nil {
				err = command.ErrSaveFailed.With(err)
			}
			done(err)
		})
		return nil
	}
	if s.persistence == nil {
		return command.ErrNoDir
	}
	result := s.persistence.Save()
	go func() {
		if err := <-result; err != nil {
			done(command.ErrSaveFailed.With(err))
			return
		}
		done(nil)
	}()
	return nil
}

// SaveAlone implements [command.Server].
func (s *Server) SaveAlone() error {
	switch {
	case s.env.Cluster != nil:
		s.env.Cluster.Snapshot(func(error) {})
	case s.persistence == nil:
		return command.ErrNoDir
	case s.persistence.SaveAlone() != nil:
		return command.ErrSaveBusy
	}
	return nil
}

// LastSave implements [command.Server].
func (s *Server) LastSave() int64 {
	if s.env.Cluster != nil {
		if at := s.env.Cluster.Status().LastSnapshot; !at.IsZero() {
			return at.Unix()
		}
	} else if s.persistence != nil {
		if at := s.persistence.Status().LastSave; at > 0 {
			return at / int64(time.Second)
		}
	}
	return s.env.Clock.Started() / int64(time.Second)
}

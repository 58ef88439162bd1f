package persistence

import (
	"errors"
	"time"
)

// Commit calls done once all decisions so far are durable, or with the error that prevents it. It is for the mode
// [Always].
func (m *Manager) Commit(done func(error)) {
	m.mu.Lock()
	m.commits = append(m.commits, done)
	m.mu.Unlock()
	select {
	case m.waiting <- struct{}{}:
	default:
	}
}

func (m *Manager) takeCommits() []func(error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	commits := m.commits
	m.commits = nil
	return commits
}

// flush writes the changes, and answers the commits that waited for it.
func (m *Manager) flush() {
	if m.journal == nil {
		return
	}
	commits := m.takeCommits() // first, because the changes they wait for are already in the store
	err := m.journalErr
	if err == nil || m.Clock() >= m.journal.retryAt {
		now := len(commits) > 0 || m.Mode == Always
		began := m.Clock()
		var c collected
		if c, err = m.writeChanges(now || len(m.completeWaiters) > 0 || m.ending.Load() || began >= m.largeNotBefore); err == nil {
			if !c.left {
				m.flushedUntil = began
			}
			err = m.sync(now)
		}
		m.note(err)
		if err == nil && !c.complete {
			err = errIncomplete
		}
	}
	m.answerComplete(err)
	for _, done := range commits {
		done(err)
	}
}

var errIncomplete = errors.New("more keys were deleted at once than the journal can record, so a new snapshot is written")

// flushNow flushes without waiting for the time of the next attempt after a failure.
func (m *Manager) flushNow() {
	if m.journal != nil {
		m.journal.retryAt = 0
	}
	m.flush()
}

// writeChanges passes the changes to the kernel, first those that a failure left pending: all of them, or all except
// large states.
func (m *Manager) writeChanges(all bool) (c collected, err error) {
	j := m.journal
	if err := j.write(); err != nil {
		return c, err
	}
	c.complete = true
	if m.Store.HasChanges() {
		now := m.Clock()
		c = j.collect(m.Store, now, all)
		m.snapshotNeeded = m.snapshotNeeded || !c.complete
		if c.largeBytes > 0 {
			m.largeNotBefore = now + int64(time.Duration(c.largeBytes/(LargeBytesPerSecond/1000))*time.Millisecond)
		}
	}
	j.markDurable(m.Clock())
	return c, j.write()
}

// sync syncs the journal: at once if replies wait for it, otherwise once a second, concurrently with the flushes.
func (m *Manager) sync(now bool) error {
	j := m.journal
	if now {
		return j.sync()
	}
	if err := j.syncResult(); err != nil {
		return err
	}
	if len(m.completeWaiters) > 0 || m.Clock()-j.syncStarted >= int64(SyncEvery) {
		if run := j.startSync(m.Clock()); run != nil {
			go run()
		}
	}
	return nil
}

// note records the outcome of an attempt to write or sync the journal.
func (m *Manager) note(err error) {
	if m.journalErr = err; err != nil {
		m.journal.retryAt = m.Clock() + int64(retryEvery)
	}
	if m.journal.broken { // a failed sync may have dropped any data, so only new files are reliable
		m.snapshotNeeded, m.covered = true, false
		if m.gap == nil {
			m.gap = err
		}
	}
	m.report()
}

// report shows and logs a failure when it begins and when it ends. In the mode always no change in a gap was
// acknowledged, so a new journal ends the gap.
func (m *Manager) report() {
	err := m.journalErr
	if err == nil && m.Mode != Always {
		err = m.gap
	}
	switch was := m.failing.Load(); {
	case err != nil && was == nil:
		m.failing.Store(&failure{err})
		m.Log.Error("state cannot be written to disk; decisions continue without it, except with --durability always, which refuses them", "reason", err)
	case err == nil && was != nil:
		m.failing.Store(nil)
		m.Log.Info("state is written to disk again")
	}
}

// answerComplete answers the waiters of a complete snapshot once the journal is durable up to its end at that time.
func (m *Manager) answerComplete(err error) {
	if len(m.completeWaiters) > 0 && (err != nil || m.journal.durableTotal() >= m.completeAt) {
		m.answer(&m.completeWaiters, err)
	}
}

func (m *Manager) answer(waiting *[]chan error, err error) {
	for _, done := range *waiting {
		done <- err
	}
	*waiting = nil
}

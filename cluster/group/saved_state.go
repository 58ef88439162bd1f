package group

import (
	"context"
	"time"

	"github.com/stintdb/stint/cluster/clock"
	"github.com/stintdb/stint/cluster/fsm"
	"github.com/stintdb/stint/cluster/oncelog"
	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/persistence"
)

// savedState saves the cluster's id, format version and time, which a node needs before its log has been replayed.
type savedState struct {
	opt   *Config
	disk  Storage
	clock *clock.Clock
	fsm   *fsm.Machine
	log   *oncelog.Log

	clusterIDBefore string            // as the last run saved it
	formatsBefore   fsm.FormatVersion // the same, 0 for none
	// The rest belongs to save.
	clusterIDOnDisk string
	formatsOnDisk   fsm.FormatVersion
	lastClock       raftstore.SavedClock // as it was saved last
	lastTime        int64                // the fsm's time then
}

// restore reads the values that the last run saved.
func (s *savedState) restore() {
	if text, err := s.disk.Stable().Get(raftstore.ClusterIDKey); err == nil { // Get returns an error for a missing value
		s.clusterIDBefore = string(text)
	}
	if version, err := s.disk.Stable().GetUint64(raftstore.FormatsKey); err == nil {
		s.formatsBefore = fsm.FormatVersion(version)
	}
	s.restoreClock()
	s.clock.CountSuspends(func() time.Duration {
		_, up := s.opt.SinceBoot()
		return up
	})
}

// save saves all values that have changed.
func (s *savedState) save(context.Context) {
	s.saveClusterID()
	s.saveFormats()
	s.saveClock()
}

// saveClusterID saves the cluster's id.
func (s *savedState) saveClusterID() {
	if id := s.fsm.Cluster.Load().ClusterID; id != "" && id != s.clusterIDOnDisk {
		if err := s.disk.Stable().Set(raftstore.ClusterIDKey, []byte(id)); err != nil {
			s.log.Once("remember", "cannot save the cluster's id", "error", err)
			return
		}
		s.clusterIDOnDisk = id
	}
}

// saveFormats saves the cluster's format version.
func (s *savedState) saveFormats() {
	if used := s.fsm.Cluster.Load().Formats; used > s.formatsOnDisk {
		if err := s.disk.Stable().SetUint64(raftstore.FormatsKey, uint64(used)); err != nil {
			s.log.Once("remember", "cannot save the cluster's format version", "error", err)
			return
		}
		s.formatsOnDisk = used
	}
}

// clusterID returns the id of this node's cluster, "" if it never belonged to one.
func (s *savedState) clusterID() string {
	if id := s.fsm.Cluster.Load().ClusterID; id != "" {
		return id
	}
	return s.clusterIDBefore
}

// saveClock saves the cluster's time together with this node's own clocks, from which the next start continues. What
// was saved stays valid until one of the clocks is moved.
func (s *savedState) saveClock() {
	now, applied := s.clock.Now(), s.fsm.Now.Load()
	if now == 0 || applied == s.lastTime || !s.clock.IsConfirmed() {
		return
	}
	clocks := s.ownClocks(now)
	apart := func(c raftstore.SavedClock) int64 { return c.Cluster - c.Wall }
	moved := apart(clocks) - apart(s.lastClock)
	if now-s.lastClock.Cluster < int64(keepClockEvery) && max(moved, -moved) < int64(clockMoved) {
		return
	}
	if err := s.disk.SaveClock(clocks); err != nil {
		s.log.Once("clock", "cannot save the time for the next start; buckets will not refill for the time that this node is down", "error", err)
		return
	}
	s.lastClock, s.lastTime = clocks, applied
}

const (
	keepClockEvery = 10 * time.Second
	clockMoved     = 100 * time.Millisecond
)

// restoreClock continues from the saved time, plus the time that has passed since then by this node's own clocks.
func (s *savedState) restoreClock() {
	saved, err := s.disk.LoadClock()
	if err != nil {
		s.log.Warn("cannot read the time saved by the last run; time continues from the last entry of the log, and buckets do not refill for the time this node was down", "error", err)
	}
	if saved.Cluster > 0 {
		s.clock.Observe(saved.Cluster + int64(saved.Passed(s.ownClocks(0))))
	}
}

// ownClocks reads this node's own clocks at the cluster's time now.
func (s *savedState) ownClocks(now int64) raftstore.SavedClock {
	boot, up := s.opt.SinceBoot()
	return raftstore.SavedClock{Cluster: now, Wall: s.opt.Wall().UnixNano(), Boot: boot, Up: up}
}

// watchClock notes suspends of the machine, and warns while the cluster's time is far ahead of the machine's clock.
func (s *savedState) watchClock(context.Context) {
	s.clock.NoteSuspend()
	if ahead := s.clock.Ahead(); ahead > persistence.MaxAhead {
		s.log.WarnOnce("ahead", "the cluster's time is ahead of this machine's clock: that clock is behind, or a leader's was ahead once. In the second case TIME and EXAT are wrong, until the cluster begins with a backup and --rewind",
			"ahead", ahead, "cluster_time", time.Unix(0, s.clock.Now()).UTC(), "machine", s.opt.Wall().UTC())
	}
}

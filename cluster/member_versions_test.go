package cluster

import (
	"testing"
	"testing/synctest"
)

// shownVersion returns the format version of a member as a node shows it; 0 without such a member.
func shownVersion(n *Node, member string) uint32 {
	for _, m := range n.Group().Status().Members {
		if m.ID == member {
			return m.FormatVersion
		}
	}
	return 0
}

// The log's record of a member's version is newer than the last answer of the member's earlier process. A node that
// does not reach the upgraded member shows its new version from the moment at which the cluster uses it.
func TestRecordedVersionIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, leader := mixed(t)
		defer s.stop()
		other := s.nodes["a"]
		if other == leader {
			other = s.nodes["b"]
		}
		s.eventually("all have heard of c's version", func(n *Node) bool { return shownVersion(n, "c") == 1 })
		s.net.SetCut(other.opt.Node, "c", true)
		s.net.SetCut("c", other.opt.Node, true)
		s.kill("c")
		s.known["c"] = forceIsNew
		s.start("c")
		s.eventually("the version is raised", func(n *Node) bool { return n.Group().Status().FormatVersion == 2 })
		for name, n := range s.nodes {
			if shown := shownVersion(n, "c"); shown != 2 {
				t.Errorf("%s: c is shown with version %d", name, shown)
			}
		}
		s.mustNotFail()
	})
}

package cluster

import (
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// When two of five nodes lose their disks, two groups lose their majorities. The log of every node names these groups,
// even on the two nodes, and every node reports that the nodes with replicas of them are not healthy, and why. While the
// two nodes are down, the others also name them, and say since when and what to do.
func TestLostGroupsAreNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const groups, replicas = 4, 3 // on abc, bcd, cde and dea
		s := simulate(t)
		log := s.listenToLog()
		s.names, s.groups, s.replicas = []string{"a", "b", "c", "d", "e"}, groups, replicas
		defer s.stop()
		for _, name := range s.names {
			s.start(name)
		}
		s.awaitGroups()
		time.Sleep(20 * time.Second)
		for name, n := range s.nodes {
			for _, m := range n.Status().Members {
				if len(m.UnhealthyGroups) > 0 {
					t.Errorf("%s says of %s that the groups %v are not healthy, and all are", name, m.ID, m.UnhealthyGroups)
				}
			}
		}
		if log.Has("groups of keys have no leader") {
			t.Error("all groups have leaders, and the log says otherwise")
		}
		for _, name := range []string{"d", "e"} {
			s.kill(name)
		}
		died := time.Now()
		time.Sleep(30 * time.Second)
		told := regexp.MustCompile(`^groups 3,4 have had no leader since (\S+), .*start the nodes that are down \(d, e\); .*restore`)
		for name, n := range s.nodes {
			got := told.FindStringSubmatch(n.Status().LeaderlessText)
			if got == nil {
				t.Errorf("%s says %q", name, n.Status().LeaderlessText)
				continue
			}
			since, err := time.Parse(time.RFC3339, got[1])
			if late := since.Sub(died); err != nil || late < -time.Second || late > 10*time.Second {
				t.Errorf("%s says since %v, %v; the nodes died at %v", name, since, err, died)
			}
		}
		for _, name := range []string{"d", "e"} {
			s.disks[name] = newMemDisk(1)
			s.start(name)
		}
		time.Sleep(30 * time.Second)
		want := map[string][]int{"a": {4}, "b": nil, "c": {3}, "d": {3, 4}, "e": {3, 4}}
		for name, n := range s.nodes {
			for _, m := range n.Status().Members {
				if !slices.Equal(m.UnhealthyGroups, want[m.ID]) {
					t.Errorf("%s says of %s that the groups %v are not healthy, want %v", name, m.ID, m.UnhealthyGroups, want[m.ID])
				}
			}
			line := regexp.MustCompile(`msg="groups of keys have no leader[^\n]* node=` + name + ` [^\n]*groups=3,4`)
			if !line.MatchString(log.String()) {
				t.Errorf("the log of %s does not name the groups", name)
			}
		}
		for _, name := range s.names {
			s.kill(name)
			s.disks[name] = newMemDisk(1)
		}
		for _, name := range s.names {
			s.start(name)
		}
		s.awaitGroups()
		time.Sleep(30 * time.Second)
		for name, n := range s.nodes {
			if text := n.Status().LeaderlessText; text != "" {
				t.Errorf("all groups have leaders, and %s says %q", name, text)
			}
		}
	})
}

package fsm

import (
	"encoding/json"

	"github.com/hashicorp/raft"
)

// The JSON of entries other than decisions.
type (
	// BootstrapBody is the JSON of a KindBootstrap entry.
	BootstrapBody struct {
		ClusterID  string        `json:"cluster"`
		Formats    FormatVersion `json:"formats,omitempty"` // the newest that all first members report
		Groups     int           `json:"groups,omitempty"`  // see Cluster
		ImportName string        `json:"import,omitempty"`  // see Cluster
	}
	// MemberBody is the JSON of a KindMember entry.
	MemberBody struct {
		ID     raft.ServerID `json:"id"`
		Member *Member       `json:"member"` // nil: it has left

		Removed bool `json:"removed,omitempty"` // it has left because an operator said so; see Cluster
	}
)

// AllowanceBody is the JSON of a KindAllowance entry.
type AllowanceBody struct {
	Allowance bool `json:"share"`
}

// applyToCluster carries out an entry that is about the cluster itself.
func (f *Machine) applyToCluster(e entryView) error {
	switch e.kind {
	case KindBootstrap:
		var body BootstrapBody
		if err := json.Unmarshal(e.body, &body); err != nil {
			return err
		}
		if err := checkUsed(body.Formats, f.Knows); err != nil {
			return err
		}
		if f.Cluster.Load().ClusterID == "" {
			next := *f.Cluster.Load()
			next.ClusterID, next.Formats, next.Groups, next.ImportName = body.ClusterID, body.Formats, body.Groups, body.ImportName
			f.setCluster(&next)
		}
	case KindMember:
		var body MemberBody
		if err := json.Unmarshal(e.body, &body); err != nil {
			return err
		}
		f.setCluster(f.Cluster.Load().withMember(body))
	case KindProcess:
		var body ProcessBody
		if err := json.Unmarshal(e.body, &body); err != nil {
			return err
		}
		f.setCluster(f.Cluster.Load().withProcess(body))
	case KindVersion:
		version, err := readVersion(e.body, f.Knows)
		if err != nil {
			return err
		}
		next := *f.Cluster.Load()
		next.Formats = max(next.Formats, version)
		f.setCluster(&next)
	case KindGroups:
		return f.applyGroups(e.body)
	case KindPlacement:
		return f.applyPlacement(e.body)
	case KindAllowance:
		var body AllowanceBody
		if err := json.Unmarshal(e.body, &body); err != nil {
			return err
		}
		next := *f.Cluster.Load()
		next.Allowance = body.Allowance
		f.setCluster(&next)
	}
	return nil
}

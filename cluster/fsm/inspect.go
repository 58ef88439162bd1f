package fsm

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/call"
	"github.com/stintdb/stint/cluster/placement"
	"github.com/stintdb/stint/cluster/raftstore"
	"github.com/stintdb/stint/engine/opcodec"
)

// Inspect describes the files of a node's directory; see [raftstore.Inspect].
func Inspect(dir string) ([]raftstore.Finding, error) {
	return raftstore.Inspect(dir, describeState)
}

func describeState(state io.Reader) (string, error) {
	head, err := ReadSnapshotHead(state)
	if err != nil {
		return "", err
	}
	left, err := io.Copy(io.Discard, state)
	return fmt.Sprintf("of %s, with %d bytes of keys and policies", time.Unix(0, head.Now).UTC().Format(time.RFC3339),
		left), err
}

// InspectEntry reads an entry of a node's log, as an entry log stores it, with the same readers as a node.
// It returns the reason why a node of this version would stop at it, or nil.
func InspectEntry(index uint64, data []byte) error {
	var l raft.Log
	if err := raftstore.DecodeEntry(index, data, &l); err != nil || l.Type != raft.LogCommand {
		return err
	}
	e, err := readEntry(l.Data)
	if err != nil {
		return err
	}
	switch e.kind {
	case KindBootstrap:
		var body BootstrapBody
		if err := json.Unmarshal(e.body, &body); err != nil {
			return err
		}
		return checkUsed(body.Formats, NewFormats(Additions).Newest)
	case KindMember:
		return json.Unmarshal(e.body, &MemberBody{})
	case KindVersion:
		_, err := readVersion(e.body, NewFormats(Additions).Newest)
		return err
	case KindAllowance:
		return json.Unmarshal(e.body, &AllowanceBody{})
	case KindProcess:
		return json.Unmarshal(e.body, &ProcessBody{})
	case KindGroups:
		return json.Unmarshal(e.body, &GroupsBody{})
	case KindPlacement:
		return json.Unmarshal(e.body, &placement.Table{})
	case KindDecisions:
		return inspectGroups(e.body)
	}
	return nil
}

func inspectGroups(body []byte) error {
	var r opcodec.Reader
	for len(body) > 0 {
		g, rest, err := call.NextGroup(body)
		if err != nil {
			return err
		}
		if _, err := call.ReadGroup(&r, g, nil); err != nil {
			return err
		}
		body = rest
	}
	return nil
}

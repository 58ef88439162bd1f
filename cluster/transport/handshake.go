package transport

import (
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/hashicorp/raft"
)

// A connection between nodes begins with eight bytes, of which the last is the connection's purpose, and a hello in
// each direction.
const peerMagic = "STINT\x00\x01"

// Purpose is the purpose of a connection between nodes.
type Purpose byte

// The purposes.
const (
	ForRaft  Purpose = 'R' // Raft's own messages
	ForCalls Purpose = 'C' // operations forwarded to the leader
	ForRPC   Purpose = 'M' // questions and requests about the cluster itself
)

// Hello is the first message in each direction.
type Hello struct {
	From    raft.ServerID `json:"from"`
	To      raft.ServerID `json:"to,omitempty"` // the node that it expects to reach, if it knows
	Cluster string        `json:"cluster,omitempty"`
	Refused string        `json:"refused,omitempty"` // in the answer: the reason for a refusal
	Formats uint32        `json:"formats,omitempty"` // the newest version of the formats that the node knows

	// Frames is 1 from a node that carries Raft's messages in frames, as all nodes do since version 0.2.0. Other nodes
	// are refused.
	Frames uint32 `json:"frames,omitempty"`

	Groups uint32 `json:"groups,omitempty"` // the number of groups of keys; 0 where one group has all keys
	Group  uint32 `json:"-"`                // of calls: the group that they are for

	Streams bool `json:"streams,omitempty"` // the connection carries the streams of groups of keys
}

// acceptHandshake is the accepting side of a handshake.
func (p *Peers) acceptHandshake(conn net.Conn) (purpose Purpose, theirs Hello, err error) {
	_ = conn.SetDeadline(time.Now().Add(handshakeTimeout))
	head := make([]byte, len(peerMagic)+1)
	if _, err := io.ReadFull(conn, head); err != nil {
		return 0, theirs, err
	}
	purpose = Purpose(head[len(peerMagic)])
	if string(head[:len(peerMagic)]) != peerMagic || purpose != ForRaft && purpose != ForCalls && purpose != ForRPC {
		return 0, theirs, errors.New("it does not speak the protocol between nodes, or speaks another version of it")
	}
	if err := ReadJSON(conn, &theirs); err != nil {
		return 0, theirs, err
	}
	ours := p.Hello("")
	ours.Frames, ours.Streams = framesVersion, theirs.Streams
	switch {
	case purpose == ForCalls && p.leaving.Load() && !p.Leads():
		_ = WriteJSON(conn, Hello{From: ours.From, Cluster: ours.Cluster, Refused: errLeaving.Error()})
		return 0, theirs, errLeaving
	case p.isolated.Load() && purpose != ForRPC:
		ours.Refused = errIsolated.Error()
	case purpose == ForRaft && !theirs.Streams && theirs.Frames < framesVersion:
		ours.Refused = errNoFrames.Error()
	case p.checkPeer(theirs, purpose) != nil:
		ours.Refused = p.checkPeer(theirs, purpose).Error()
	case theirs.To != "" && theirs.To != ours.From:
		ours.Refused = fmt.Sprintf("this is node %s, not %s", ours.From, theirs.To)
	case theirs.Cluster != "" && ours.Cluster != "" && theirs.Cluster != ours.Cluster:
		ours.Refused = fmt.Sprintf("this node belongs to the cluster %s, not to %s", ours.Cluster, theirs.Cluster)
	}
	if err := WriteJSON(conn, ours); err != nil {
		return 0, theirs, err
	}
	if ours.Refused != "" {
		return 0, theirs, fmt.Errorf("from node %s: %s", theirs.From, ours.Refused)
	}
	if p.OnConnect != nil {
		p.OnConnect(theirs.From)
	}
	return purpose, theirs, conn.SetDeadline(time.Time{})
}

var errLeaving = errors.New("this node has transferred leadership and is shutting down")

var errIsolated = errors.New("this node has withdrawn because its disk does not answer")

func (p *Peers) dialHandshake(conn net.Conn, address string, purpose Purpose, about Hello) (theirs Hello, err error) {
	_ = conn.SetDeadline(time.Now().Add(handshakeTimeout))
	to := raft.ServerID("")
	if purpose == ForRaft {
		to = p.Known(address)
	}
	if _, err := conn.Write(append([]byte(peerMagic), byte(purpose))); err != nil {
		return theirs, err
	}
	ours := p.Hello(to)
	ours.Frames, ours.Streams = about.Frames, about.Streams
	if err := WriteJSON(conn, ours); err != nil {
		return theirs, err
	}
	if err := ReadJSON(conn, &theirs); err != nil {
		return theirs, err
	}
	if theirs.Refused != "" {
		return theirs, errors.New(theirs.Refused)
	}
	if err := p.checkPeer(theirs, purpose); err != nil {
		return theirs, err
	}
	return theirs, conn.SetDeadline(time.Time{})
}

// checkPeer lets the node check another node's hello. Every node may ask for its status by RPC.
func (p *Peers) checkPeer(theirs Hello, purpose Purpose) error {
	if purpose == ForRPC || p.Check == nil {
		return nil
	}
	return p.Check(theirs)
}

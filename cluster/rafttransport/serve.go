package rafttransport

import (
	"fmt"
	"io"
	"net"

	"github.com/hashicorp/raft"

	"github.com/stintdb/stint/cluster/transport"
)

// serve answers the questions of a connection until it closes.
func (l *Links) serve(conn net.Conn) {
	in, out := transport.Buffered(conn), []byte(nil)
	for {
		frame, err := transport.ReadFrame(in, nil, maxMessageBytes) // Raft keeps the frame
		if err != nil {
			l.noteRefusal(conn, err)
			return
		}
		h, question, err := readQuestion(frame)
		if err != nil {
			l.noteRefusal(conn, fmt.Errorf("a message of Raft's of %d bytes: %w", len(frame), err))
			return
		}
		var a raft.RPCResponse
		if t := l.group(h.group); t == nil {
			a.Error = fmt.Errorf("this node has no group %d", h.group)
		} else if h.group != 0 && h.to != string(t.own) {
			a.Error = fmt.Errorf("this is member %s of group %d, not %s", t.own, h.group, h.to)
		} else if a, err = t.deliver(question, in); err != nil {
			return
		}
		out = appendAnswer(append(out[:0], 0, 0, 0, 0), h.id, a.Error, a.Response)
		if _, err := conn.Write(transport.SealFrame(out)); err != nil || h.kind == kindSnapshot {
			return
		}
	}
}

func (l *Links) noteRefusal(conn net.Conn, err error) {
	l.peers.NoteBroken(conn, "closed a connection for Raft", err)
}

// deliver has Raft answer a question. An error means that Raft has ended. Heartbeats do not wait for Raft's main loop,
// which may wait for the disk.
func (t *Transport) deliver(question any, in io.Reader) (a raft.RPCResponse, err error) {
	answered := make(chan raft.RPCResponse, 1)
	rpc := raft.RPC{Command: question, RespChan: answered}
	isHeartbeat := false
	switch q := question.(type) {
	case *raft.InstallSnapshotRequest:
		rpc.Reader = io.LimitReader(in, q.Size)
	case *raft.AppendEntriesRequest:
		isHeartbeat = q.Term != 0 && transport.IsHeartbeat(q)
	}
	if handle := t.heartbeat.Load(); isHeartbeat && handle != nil {
		(*handle)(rpc)
	} else if !t.pass(rpc) {
		return a, raft.ErrTransportShutdown
	}
	select {
	case a = <-answered:
		return a, nil
	case <-t.closed:
		return a, raft.ErrTransportShutdown
	}
}

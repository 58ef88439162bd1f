package rafttransport

import (
	"errors"
	"fmt"

	"github.com/hashicorp/raft"
)

// The kinds of questions. They are part of the protocol: a number is never given to another.
const (
	kindAppendEntries byte = 1
	kindRequestVote   byte = 2
	kindPreVote       byte = 3
	kindTimeoutNow    byte = 4
	kindSnapshot      byte = 5 // the snapshot's bytes follow its frame
)

// A question is a frame of a head and Raft's message. An answer is a frame of the question's id, an error ("" for none)
// and, without an error, Raft's answer.
type head struct {
	kind  byte
	group uint32 // of the receiver's groups
	id    uint64 // counts the questions of a connection, from 1
	// to is the member that is asked, in a group other than 0. A connection is only checked against group 0, which
	// knows a node that lost its disk as a new member before the other groups do.
	to string
}

func (h *head) fields(f *fields) {
	f.byte(&h.kind)
	f.uint32(&h.group)
	f.uint64(&h.id)
	if h.group != 0 {
		f.string(&h.to)
	}
}

// newQuestion returns an empty message of a kind; nil for an unknown kind.
func newQuestion(kind byte) any {
	switch kind {
	case kindAppendEntries:
		return new(raft.AppendEntriesRequest)
	case kindRequestVote:
		return new(raft.RequestVoteRequest)
	case kindPreVote:
		return new(raft.RequestPreVoteRequest)
	case kindTimeoutNow:
		return new(raft.TimeoutNowRequest)
	case kindSnapshot:
		return new(raft.InstallSnapshotRequest)
	}
	return nil
}

func appendQuestion(b []byte, h head, question any) []byte {
	f := &fields{writes: true, b: b}
	h.fields(f)
	messageFields(f, question)
	return f.b
}

// readQuestion reads a question. It refers to the memory of the frame.
func readQuestion(frame []byte) (h head, question any, err error) {
	f := &fields{b: frame}
	h.fields(f)
	if question = newQuestion(h.kind); question == nil {
		return h, nil, errors.Join(f.err, fmt.Errorf("a message of kind %d is not known", h.kind))
	}
	messageFields(f, question)
	return h, question, f.end()
}

// appendAnswer appends an answer of Raft's, which is nil with some errors.
func appendAnswer(b []byte, id uint64, refused error, answer any) []byte {
	f := &fields{writes: true, b: b}
	text := ""
	if refused != nil {
		text = refused.Error()
	}
	f.uint64(&id)
	f.string(&text)
	if refused == nil {
		messageFields(f, answer)
	}
	return f.b
}

// readAnswer reads an answer, which refers to the memory of the frame. refused is the other node's error.
func readAnswer(frame []byte, id uint64, answer any) (refused, err error) {
	f := &fields{b: frame}
	var of uint64
	var text string
	f.uint64(&of)
	f.string(&text)
	switch {
	case f.err != nil:
	case of != id:
		return nil, fmt.Errorf("question %d is answered, not %d", of, id)
	case text != "":
		refused = errors.New(text)
	default:
		messageFields(f, answer)
	}
	return refused, f.end()
}

// messageFields lists the fields of Raft's messages, without the fields that Raft keeps for its own older versions.
func messageFields(f *fields, message any) {
	switch m := message.(type) {
	case *raft.AppendEntriesRequest:
		headerFields(f, &m.RPCHeader)
		f.uint64(&m.Term)
		f.uint64(&m.PrevLogEntry)
		f.uint64(&m.PrevLogTerm)
		f.uint64(&m.LeaderCommitIndex)
		entriesFields(f, &m.Entries)
	case *raft.AppendEntriesResponse:
		headerFields(f, &m.RPCHeader)
		f.uint64(&m.Term)
		f.uint64(&m.LastLog)
		f.bool(&m.Success)
		f.bool(&m.NoRetryBackoff)
	case *raft.RequestVoteRequest:
		headerFields(f, &m.RPCHeader)
		f.uint64(&m.Term)
		f.uint64(&m.LastLogIndex)
		f.uint64(&m.LastLogTerm)
		f.bool(&m.LeadershipTransfer)
	case *raft.RequestVoteResponse:
		headerFields(f, &m.RPCHeader)
		f.uint64(&m.Term)
		f.bool(&m.Granted)
	case *raft.RequestPreVoteRequest:
		headerFields(f, &m.RPCHeader)
		f.uint64(&m.Term)
		f.uint64(&m.LastLogIndex)
		f.uint64(&m.LastLogTerm)
	case *raft.RequestPreVoteResponse:
		headerFields(f, &m.RPCHeader)
		f.uint64(&m.Term)
		f.bool(&m.Granted)
	case *raft.TimeoutNowRequest:
		headerFields(f, &m.RPCHeader)
	case *raft.TimeoutNowResponse:
		headerFields(f, &m.RPCHeader)
	case *raft.InstallSnapshotRequest:
		snapshotFields(f, m)
	case *raft.InstallSnapshotResponse:
		headerFields(f, &m.RPCHeader)
		f.uint64(&m.Term)
		f.bool(&m.Success)
	default:
		panic(fmt.Sprintf("rafttransport: %T is none of Raft's messages", message))
	}
}

func headerFields(f *fields, h *raft.RPCHeader) {
	byteAs(f, &h.ProtocolVersion)
	f.bytes(&h.ID)
	f.bytes(&h.Addr)
}

func snapshotFields(f *fields, m *raft.InstallSnapshotRequest) {
	headerFields(f, &m.RPCHeader)
	byteAs(f, &m.SnapshotVersion)
	f.uint64(&m.Term)
	f.uint64(&m.LastLogIndex)
	f.uint64(&m.LastLogTerm)
	f.bytes(&m.Configuration)
	f.uint64(&m.ConfigurationIndex)
	f.int64(&m.Size)
	if m.Size < 0 && f.err == nil {
		f.err = fmt.Errorf("a snapshot of %d bytes", m.Size)
	}
}

// minEntryBytes is the size of an entry without data: three numbers, its type, and two lengths.
const minEntryBytes = 3*8 + 1 + 2*4

func entriesFields(f *fields, entries *[]*raft.Log) {
	n := uint32(len(*entries))
	f.uint32(&n)
	if !f.writes {
		if uint64(n)*minEntryBytes > uint64(len(f.b)) {
			f.err = errors.Join(f.err, fmt.Errorf("%d entries in %d bytes", n, len(f.b)))
			return
		}
		*entries = newEntries(int(n))
	}
	for _, e := range *entries {
		f.uint64(&e.Index)
		f.uint64(&e.Term)
		byteAs(f, &e.Type)
		f.bytes(&e.Data)
		f.bytes(&e.Extensions)
		f.time(&e.AppendedAt)
	}
}

func newEntries(n int) []*raft.Log {
	if n == 0 {
		return nil
	}
	all, entries := make([]raft.Log, n), make([]*raft.Log, n)
	for i := range entries {
		entries[i] = &all[i]
	}
	return entries
}

package opcodec

import (
	"bytes"
	"encoding/binary"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

// A result as bytes:
//
//	1       flags, below
//	1       status, unless it is OK
//	varints zigzag: granted, limit, remaining, wait, reset
//	        WrongType: 1 the algorithm wanted
//	        flagged: the limit held; varint bytes
//	        flagged: varint number of parts, zigzag varint the binding one; the parts, results again
//	        flagged: varint length of the reply of a command or script, or of the list of a log; the reply
//	        flagged: varints: tokens lent, number of the last operation on the loan
//	        flagged: varint number of leases; of each a zigzag varint of the time remaining, varint length, holder
const (
	resultAllowed = 1 << iota
	resultStatus
	resultHeld
	resultBytes
	resultParts
	resultLeases
	resultReply
	resultLent
)

// AppendResult appends a result to b: everything that its reply needs.
func AppendResult(b []byte, res *engine.Result) []byte {
	flags := byte(0)
	if res.Allowed {
		flags |= resultAllowed
	}
	if res.Status != engine.OK {
		flags |= resultStatus
	}
	if res.ShowsHeld() {
		flags |= resultHeld
	}
	if res.Bytes != 0 {
		flags |= resultBytes
	}
	if len(res.Parts) > 0 {
		flags |= resultParts
	}
	if len(res.Leases) > 0 {
		flags |= resultLeases
	}
	if len(res.Reply) > 0 {
		flags |= resultReply
	}
	if res.Lent != 0 || res.Number != 0 {
		flags |= resultLent
	}
	b = append(b, flags)
	if flags&resultStatus != 0 {
		b = append(b, byte(res.Status))
	}
	for _, n := range [...]int64{res.Granted, res.Limit, res.Remaining, res.Wait, res.Reset} {
		b = binary.AppendVarint(b, n)
	}
	if flags&^(resultAllowed|resultStatus) == 0 && res.Status != engine.WrongType {
		return b
	}
	return appendRest(b, res, flags)
}

func appendRest(b []byte, res *engine.Result, flags byte) []byte {
	if res.Status == engine.WrongType {
		b = append(b, byte(res.Wanted))
	}
	if flags&resultHeld != 0 {
		b = res.Held.Append(b)
	}
	if flags&resultBytes != 0 {
		b = binary.AppendUvarint(b, uint64(res.Bytes))
	}
	if flags&resultParts != 0 {
		b = binary.AppendUvarint(b, uint64(len(res.Parts)))
		b = binary.AppendVarint(b, int64(res.Binding))
		for i := range res.Parts {
			b = AppendResult(b, &res.Parts[i])
		}
	}
	if flags&resultReply != 0 {
		b = append(binary.AppendUvarint(b, uint64(len(res.Reply))), res.Reply...)
	}
	if flags&resultLent != 0 {
		b = binary.AppendUvarint(b, uint64(res.Lent))
		b = binary.AppendUvarint(b, res.Number)
	}
	if flags&resultLeases != 0 {
		b = binary.AppendUvarint(b, uint64(len(res.Leases)))
		for i := range res.Leases {
			l := &res.Leases[i]
			b = binary.AppendVarint(b, l.Remaining)
			b = append(binary.AppendUvarint(b, uint64(len(l.Holder))), l.Holder...)
		}
	}
	return b
}

// ReadResult reads a result that [AppendResult] wrote and returns the bytes after it, or [ErrInvalid]. It uses
// res.Parts again where there is room; nothing in res refers to b.
func ReadResult(b []byte, res *engine.Result) (rest []byte, err error) {
	in := readerOf(b)
	if !in.result(res, true) {
		return nil, ErrInvalid
	}
	return in.Rest, nil
}

// result reads a result; one of a part has no parts.
func (r *byteReader) result(res *engine.Result, whole bool) bool {
	res.Clear()
	flags := r.Byte()
	res.Allowed = flags&resultAllowed != 0
	if flags&resultStatus != 0 {
		res.Status = engine.Status(r.Byte())
	}
	for _, n := range [...]*int64{&res.Granted, &res.Limit, &res.Remaining, &res.Wait, &res.Reset} {
		*n = r.Varint()
	}
	if r.Bad || !res.Status.Known() {
		return false
	}
	if res.Status == engine.WrongType {
		if res.Wanted = limits.Algorithm(r.Byte()); r.Bad || !res.Wanted.Known() {
			return false
		}
	}
	if flags&resultHeld != 0 {
		if res.Held = r.Limit(); r.Bad || !res.Held.Valid() {
			return false
		}
	}
	if flags&resultBytes != 0 {
		res.Bytes = int64(r.Uvarint())
	}
	if flags&resultParts != 0 && (!whole || !r.resultParts(res)) {
		return false
	}
	if res.Reply = res.Reply[:0]; flags&resultReply != 0 {
		res.Reply = append(res.Reply, r.Text()...)
	}
	if flags&resultLent != 0 {
		res.Lent, res.Number = int64(r.Uvarint()), r.Uvarint()
	}
	return (flags&resultLeases == 0 || r.leases(res)) && !r.Bad && (flags&resultHeld != 0) == res.ShowsHeld()
}

func (r *byteReader) resultParts(res *engine.Result) bool {
	n, binding := r.Uvarint(), r.Varint()
	if r.Bad || n < 1 || n > engine.MaxParts || binding < -1 || binding >= int64(n) {
		return false
	}
	if cap(res.Parts) < int(n) {
		res.Parts = make([]engine.Result, n)
	}
	res.Parts, res.Binding = res.Parts[:n], int(binding)
	for i := range res.Parts {
		if !r.result(&res.Parts[i], false) {
			return false
		}
	}
	return true
}

func (r *byteReader) leases(res *engine.Result) bool {
	n := r.Uvarint()
	if r.Bad || n < 1 || n > limits.MaxHolders || n > uint64(len(r.Rest))/2 {
		return false
	}
	res.Leases = make([]engine.Lease, n)
	for i := range res.Leases {
		remaining, size := r.Varint(), r.Uvarint()
		if size > engine.MaxHolderBytes {
			return false
		}
		res.Leases[i] = engine.Lease{Holder: bytes.Clone(r.Take(size)), Remaining: remaining}
	}
	return !r.Bad
}

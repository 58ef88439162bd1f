package raftstore

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/stintdb/stint/persistence/disk"
)

// oldVotesFile held the votes before raft-boltdb did: all of them twice, in two slots of equal size, of which a write
// filled and synced the first, then the second. Where both are whole, the one of the later write counts. A slot is
//
//	8  "STINTVTS"
//	4  version
//	4  length n of the JSON
//	8  number of the write, the same in both slots
//	n  JSON: an object from keys to values in base64
//	4  CRC-32C of all before
//	   zeros
const (
	oldVotesFile    = "votes.stint"
	oldVotesMagic   = "STINTVTS"
	oldVotesVersion = 1
	oldVotesSlot    = 16 << 10
	oldVotesHead    = 8 + 4 + 4 + 8
)

// readOldVotes reads the file of votes of an earlier build.
func readOldVotes(dir disk.FS) (found records, err error) {
	in, err := dir.Open(oldVotesFile)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(in, 2*oldVotesSlot))
	if err = errors.Join(err, in.Close()); err != nil {
		return nil, err
	}
	var newest uint64
	var reasons []error
	for at := 0; at < 2*oldVotesSlot; at += oldVotesSlot {
		n, values, err := readOldSlot(data[min(at, len(data)):min(at+oldVotesSlot, len(data))])
		if errors.Is(err, disk.ErrNewer) {
			return nil, err
		}
		if err != nil {
			reasons = append(reasons, err)
			continue
		}
		if found != nil && n <= newest {
			continue
		}
		newest, found = n, records{}
		for key, value := range values {
			found[key] = record{n, value}
		}
	}
	if found == nil {
		return nil, fmt.Errorf("both copies of the votes are damaged: %w", errors.Join(reasons...))
	}
	return found, nil
}

func readOldSlot(slot []byte) (number uint64, values map[string][]byte, err error) {
	if len(slot) < oldVotesHead+4 || string(slot[:8]) != oldVotesMagic {
		return 0, nil, errDamaged
	}
	end := oldVotesHead + int64(binary.LittleEndian.Uint32(slot[12:]))
	if end > int64(len(slot)-4) || crc32.Checksum(slot[:end], castagnoli) != binary.LittleEndian.Uint32(slot[end:]) {
		return 0, nil, errDamaged
	}
	if version := binary.LittleEndian.Uint32(slot[8:]); version > oldVotesVersion {
		return 0, nil, fmt.Errorf("votes, version %d: %w", version, disk.ErrNewer)
	}
	err = json.Unmarshal(slot[oldVotesHead:end], &values)
	return binary.LittleEndian.Uint64(slot[16:]), values, err
}

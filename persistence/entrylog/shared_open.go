package entrylog

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"slices"

	"github.com/stintdb/stint/persistence/disk"
)

// OpenShared is [Open] for a log of several groups.
func OpenShared(dir disk.FS, create bool, log *slog.Logger) (*Shared, error) {
	return openShared(dir, create, log, segmentBytes, sharedRoom)
}

func openShared(dir disk.FS, create bool, log *slog.Logger, segmentBytes, room int64) (*Shared, error) {
	l := &Shared{log: log, room: room, next: 1, groups: map[uint32]*Group{}}
	found := &sharedRecords{log: l}
	var err error
	if l.file, err = open(dir, create, segmentBytes, found.add); err != nil {
		return nil, err
	}
	if err := found.restore(); err != nil {
		_ = l.file.Close()
		return nil, err
	}
	return l, nil
}

// InspectShared is [Inspect] for a log of several groups. It returns the first and the last entry of each group, and
// calls visit in the order of the file.
func InspectShared(dir disk.FS, visit func(group uint32, e Entry) error) (ranges map[uint32][2]uint64, files int, err error) {
	l := &Shared{next: 1, groups: map[uint32]*Group{}}
	found := &sharedRecords{log: l}
	if _, _, files, err = Inspect(dir, func(e Entry) error { found.add(e.Index, e.Data); return nil }); err == nil {
		err = found.restore()
	}
	if err != nil {
		return nil, files, err
	}
	ranges = map[uint32][2]uint64{}
	for number, g := range l.groups {
		first, last := g.Range()
		ranges[number] = [2]uint64{first, last}
	}
	_, _, _, err = Inspect(dir, func(e Entry) error {
		if len(e.Data) < sharedHead {
			return nil // it is newer
		}
		g, index := l.group(binary.LittleEndian.Uint32(e.Data)), binary.LittleEndian.Uint64(e.Data[4:])
		if p := g.place(index); p == nil || p.number != e.Index {
			return nil
		}
		return visit(g.number, Entry{index, e.Data[sharedHead:]})
	})
	return ranges, files, err
}

// sharedRecords collects the records of the files while they are read.
type sharedRecords struct {
	log   *Shared
	found map[*Group]map[uint64]foundRecord // by their order
	wrong error
}

type foundRecord struct {
	index  uint64
	before uint64 // order of the entry before
	place  sharedPlace
}

// add notes a record. Of copies the last counts.
func (s *sharedRecords) add(number uint64, record []byte) {
	l := s.log
	if len(record) < sharedHead {
		s.wrong = fmt.Errorf("record %d has %d bytes, less than its head", number, len(record))
		return
	}
	g := l.group(binary.LittleEndian.Uint32(record))
	if s.found == nil {
		s.found = map[*Group]map[uint64]foundRecord{}
	}
	if s.found[g] == nil {
		s.found[g] = map[uint64]foundRecord{}
	}
	order := binary.LittleEndian.Uint64(record[12:])
	s.found[g][order] = foundRecord{binary.LittleEndian.Uint64(record[4:]), binary.LittleEndian.Uint64(record[20:]), sharedPlace{number, order, l.end, int64(len(record))}}
	l.end += int64(len(record))
	l.next = number + 1
}

// restore makes each group's log of its last entry and the entries before it.
func (s *sharedRecords) restore() error {
	for g, records := range s.found {
		last := uint64(0)
		for order := range records {
			last = max(last, order)
		}
		for r, ok := records[last]; ok; r, ok = records[r.before] {
			if len(g.places) > 0 && r.index != g.first-1 {
				return fmt.Errorf("entry %d of group %d is said to follow entry %d", g.first, g.number, r.index)
			}
			g.first, g.places = r.index, append(g.places, r.place)
		}
		if slices.Reverse(g.places); len(g.places) > 0 && g.first == 0 {
			g.first, g.places = 1, g.places[1:] // see Forget
		}
	}
	return s.wrong
}

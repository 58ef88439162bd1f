package command

import (
	"testing"

	"github.com/stintdb/stint/engine"
)

// The check value of the CRC, the examples of the Redis Cluster specification, and slots Redis 7 gives.
func TestSlot(t *testing.T) {
	if crc := crc16([]byte("123456789")); crc != 0x31C3 {
		t.Errorf("the CRC of 123456789 is %#x, want 0x31c3", crc)
	}
	for key, slot := range map[string]int{"": 0, "foo": 12182, "bar": 5061, "hello": 866, "user1000": 3443} {
		if got := Slot([]byte(key)); got != slot {
			t.Errorf("%q has slot %d, want %d", key, got, slot)
		}
	}
	for _, tc := range []struct{ key, hashed string }{
		{"{user1000}.following", "user1000"}, {"{user1000}.followers", "user1000"}, {"foo{bar}{zap}", "bar"}, {"foo{{bar}}zap", "{bar"},
	} {
		if got, want := Slot([]byte(tc.key)), int(crc16([]byte(tc.hashed)))%Slots; got != want {
			t.Errorf("%q has slot %d, want that of %q, %d", tc.key, got, tc.hashed, want)
		}
	}
	for _, whole := range []string{"foo{}{bar}", "foo{bar", "foo}bar{", "{}", "}{x"} {
		if got, want := Slot([]byte(whole)), int(crc16([]byte(whole)))%Slots; got != want {
			t.Errorf("%q has slot %d, want that of the whole key, %d", whole, got, want)
		}
	}
}

func TestUndecided(t *testing.T) {
	take, look := engine.Op{Verb: engine.Acquire}, engine.Op{Verb: engine.Look}
	for _, tc := range []struct {
		name     string
		ops      []engine.Op
		statuses []engine.Status
		want     engine.Status
	}{
		{"nothing", nil, nil, engine.OK},
		{"decided", []engine.Op{take, look}, []engine.Status{engine.OK, engine.NotFound}, engine.OK},
		{"not kept is decided", []engine.Op{take}, []engine.Status{engine.NotDurable}, engine.OK},
		{"none of two", []engine.Op{take, take}, []engine.Status{engine.Moved, engine.NoLeader}, engine.Moved},
		{"one of two", []engine.Op{take, take}, []engine.Status{engine.OK, engine.NoLeader}, engine.Uncertain},
		{"one of two, the other way", []engine.Op{take, take}, []engine.Status{engine.Overloaded, engine.OK}, engine.Uncertain},
		{"a look does not count", []engine.Op{look, take}, []engine.Status{engine.OK, engine.NoLeader}, engine.NoLeader},
		{"nor does what changed nothing", []engine.Op{take, take}, []engine.Status{engine.NotFound, engine.NoLeader}, engine.NoLeader},
		{"uncertain weighs most", []engine.Op{take, take}, []engine.Status{engine.NoLeader, engine.Uncertain}, engine.Uncertain},
	} {
		results := make([]engine.Result, len(tc.statuses))
		for i, s := range tc.statuses {
			results[i].Status = s
		}
		if got := Undecided(tc.ops, results); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.name, got, tc.want)
		}
	}
}

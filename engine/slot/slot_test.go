package slot

import "testing"

// The check value of the CRC, the examples of the Redis Cluster specification, and slots Redis 7 gives.
func TestOf(t *testing.T) {
	if crc := crc16([]byte("123456789")); crc != 0x31C3 {
		t.Errorf("the CRC of 123456789 is %#x, want 0x31c3", crc)
	}
	for key, slot := range map[string]int{"": 0, "foo": 12182, "bar": 5061, "hello": 866, "user1000": 3443} {
		if got := Of([]byte(key)); got != slot {
			t.Errorf("%q has slot %d, want %d", key, got, slot)
		}
	}
	for _, tc := range []struct{ key, hashed string }{
		{"{user1000}.following", "user1000"}, {"{user1000}.followers", "user1000"}, {"foo{bar}{zap}", "bar"}, {"foo{{bar}}zap", "{bar"},
	} {
		if got, want := Of([]byte(tc.key)), int(crc16([]byte(tc.hashed)))%Count; got != want {
			t.Errorf("%q has slot %d, want that of %q, %d", tc.key, got, tc.hashed, want)
		}
	}
	for _, whole := range []string{"foo{}{bar}", "foo{bar", "foo}bar{", "{}", "}{x"} {
		if got, want := Of([]byte(whole)), int(crc16([]byte(whole)))%Count; got != want {
			t.Errorf("%q has slot %d, want that of the whole key, %d", whole, got, want)
		}
	}
}

// Every slot has one group, the groups have one range each, and their sizes differ by one slot at most.
func TestGroups(t *testing.T) {
	for _, groups := range []int{1, 2, 3, 12, 64} {
		sizes := make([]int, groups+2)
		for slot := range Count {
			g := GroupOf(slot, groups)
			if g < 1 || g > groups || slot < First(g, groups) || slot >= First(g+1, groups) {
				t.Fatalf("slot %d of %d groups is in group %d, from %d to before %d", slot, groups, g, First(g, groups), First(g+1, groups))
			}
			sizes[g]++
		}
		for g := 1; g <= groups; g++ {
			if least := Count / groups; sizes[g] < least || sizes[g] > least+1 {
				t.Errorf("group %d of %d has %d slots", g, groups, sizes[g])
			}
		}
	}
}

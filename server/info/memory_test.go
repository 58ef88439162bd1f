package info

import "testing"

func TestHuman(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0B", 1023: "1023B", 939272: "917.26K", 1 << 20: "1.00M", 25276514304: "23.54G"} {
		if got := human(bytes); got != want {
			t.Errorf("%d: %s, want %s", bytes, got, want)
		}
	}
}

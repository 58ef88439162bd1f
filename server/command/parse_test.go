package command

import (
	"strings"
	"testing"
)

// A request reads durations as ParseDuration does, whichever was read before.
func TestDurationIsThatOfItsText(t *testing.T) {
	texts := []string{"60s", "60s", "6", "60", "60s", "0s", "60s", "", "1.5m", "1m", strings.Repeat("0", 20) + "60s", "60s", strings.Repeat("0", 20) + "7s", "90s"}
	var r Request
	for _, text := range texts {
		got, err := r.Duration("FOR", []byte(text))
		want, wantErr := ParseDuration("FOR", []byte(text))
		if got != want || (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
			t.Errorf("%q: %d, %v; want %d, %v", text, got, err, want, wantErr)
		}
	}
}

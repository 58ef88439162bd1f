package stint

import "testing"

func TestSpreadIsSentWhereItApplies(t *testing.T) {
	for limit, want := range map[Limit]string{
		PerSecond(10).Spread():                 "TB 10 10/1000ms SPREAD",
		PerSecond(10).Spread().Warn(80):        "TB 10 10/1000ms WARN 80% SPREAD",
		PerSecond(10).Queue(5).Spread():        "LQ 5 10/1000ms SPREAD",
		Window(10, "@day").Spread():            "FW 10 @day SPREAD",
		PerSecond(10).Spread().Member("me", 1): "FS 10 10/1000ms me",
	} {
		if got := limit.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

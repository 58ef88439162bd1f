package engine

import "testing"

func TestParseRate(t *testing.T) {
	for _, c := range []struct {
		text string
		want Rate
	}{
		{"100", Rate{100, sec}},
		{"0.035", Rate{7, 200 * sec}},
		{"2.50", Rate{5, 2 * sec}},
		{"1000/60", Rate{1000, 60 * sec}},
		{"1000/m", Rate{1000, 60 * sec}},
		{"1000/M", Rate{1000, 60 * sec}},
		{"3000/d", Rate{3000, 86400 * sec}},
		{"5/500ms", Rate{5, 500 * ms}},
		{"5/1.5s", Rate{5, 1500 * ms}},
		{"1000000000000/ms", Rate{MaxTokens, ms}},
		{"1/3650d", Rate{1, MaxDuration}},
		{"0.000000001", Rate{1, 1_000_000_000 * sec}},
		{"999999999999.9", Rate{9999999999999, 10 * sec}},
		{"0.5/3650d", Rate{1, 2 * MaxDuration}},
	} {
		got, err := ParseRate(c.text)
		if err != nil || got != c.want {
			t.Errorf("%q: %v %v, want %v", c.text, got, err, c.want)
		}
	}
	for _, text := range []string{"", "0", "0.0", "-1", "+1", "1/0", "/s", "1//s", "NaN", "Inf", "1e3", " 5", "5 ", "0x10", "1/", "1/s/s",
		"1000000000001", "1000000000000.1", "1/3651d", "1/0.5ms", "1.", ".5", "1/-1s", "1/1y", "1..5", "99999999999999999999", "1/s ",
		"0.000000000000000000000001", "1/1.0000000001s"} {
		if r, err := ParseRate(text); err == nil {
			t.Errorf("%q was read as %v", text, r)
		}
	}
}

func TestRateStringReadsBack(t *testing.T) {
	for _, r := range []Rate{{1, sec}, {1000, 60 * sec}, {5, 1500 * ms}, {7, 1_234_567}, {3, 86400 * sec}, {7, 200 * sec}} {
		if got, err := ParseRate(r.String()); err != nil || got != r {
			t.Errorf("%v -> %q -> %v %v", r, r.String(), got, err)
		}
	}
}

func TestParseDuration(t *testing.T) {
	for text, want := range map[string]int64{"250ms": 250 * ms, "10s": 10 * sec, "1.5m": 90 * sec, "1h": 3600 * sec, "7d": 7 * 86400 * sec,
		"10": 10 * sec, "0.001": ms, "1.5ms": ms + ms/2, "3650d": MaxDuration, "10S": 10 * sec} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: %d %v", text, got, err)
		}
	}
	for _, text := range []string{"", "ms", "0", "0.0009", "3651d", "-1s", "1 s", "1w", "1e3", "s1", "1.s", "."} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q was read as %d", text, got)
		}
	}
}

func FuzzParseRate(f *testing.F) {
	for _, seed := range []string{"100", "0.035", "1000/60", "1000/m", "5/500ms", "1//s", "999999999999.999999", "1/10y"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRate(text)
		if err == nil && (r.Tokens < 1 || r.Period < MinDuration) {
			t.Fatalf("%q was read as %+v", text, r)
		}
	})
}

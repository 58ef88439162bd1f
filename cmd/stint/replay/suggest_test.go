package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// someLog has one key with many requests, and others with bursts of 1 to 30.
func someLog(t *testing.T) string {
	t.Helper()
	var lines []string
	for second := range 600 {
		lines = append(lines, fmt.Sprintf("loud / %d", second), fmt.Sprintf("loud / %d", second))
		if second%20 == 0 {
			for range second/20 + 1 {
				lines = append(lines, fmt.Sprintf("k%d / %d", second%7, second))
			}
		}
	}
	path := filepath.Join(t.TempDir(), "log.json")
	if err := os.WriteFile(path, []byte(jsonLog(lines...)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The suggestion denies less than asked, and a bucket smaller by one does not.
func TestSuggest(t *testing.T) {
	p := Plan{Paths: []string{someLog(t)}, Key: []string{"ip"}, Zone: time.UTC, MaxMemory: 1 << 30, Top: 3, Except: 1}
	const most = 0.05
	s, err := p.Suggest(context.Background(), most)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Others) < 2 {
		t.Errorf("only %d choices", len(s.Others))
	}
	for i, b := range s.Others {
		p.Limits = nil
		for _, capacity := range []int64{b.Capacity, b.Capacity - 1} {
			l, err := ParseLimits(fmt.Sprintf("TB {} %d %s", capacity, b.Rate))
			if err != nil {
				t.Fatal(err)
			}
			p.Limits = append(p.Limits, l)
		}
		o, err := p.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if at, below := o.Limits[0].RestShare, o.Limits[1].RestShare; at != b.RestShare || at >= most || below < most {
			t.Errorf("%d %s denies %v, a bucket smaller by one %v", b.Capacity, b.Rate, at, below)
		}
		s.Complete(o)
		if i == 0 && s.TopShare == 0 {
			t.Error("the loud key was not denied")
		}
		var text strings.Builder
		if err := o.WriteText(&text); err != nil || !strings.Contains(text.String(), s.Limits) {
			t.Errorf("the suggestion is not shown: %v, %s", err, text.String())
		}
	}
	p.Except = 100
	if _, err := p.Suggest(context.Background(), most); err == nil || !strings.Contains(err.Error(), "none besides") {
		t.Errorf("without other keys: %v", err)
	}
	p.Paths = []string{"-"}
	if _, err := p.Suggest(context.Background(), most); !errors.Is(err, errTwice) {
		t.Errorf("from standard input: %v", err)
	}
}

func TestRateText(t *testing.T) {
	for perSecond, want := range map[float64]string{3.2: "4/s", 123: "130/s", 0.5: "30/m", 0.001: "4/h", 1e-9: "1/h", 1: "1/s", 99.5: "100/s"} {
		text, rounded := rateText(perSecond)
		if text != want || rounded < perSecond*0.999 {
			t.Errorf("%v is %s, %v; want %s", perSecond, text, rounded, want)
		}
		if _, err := ParseLimits("TB {} 1 " + text); err != nil {
			t.Error(err)
		}
	}
}

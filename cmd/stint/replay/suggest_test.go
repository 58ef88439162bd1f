package replay

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testsize"
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
	if _, err := p.Suggest(context.Background(), most); err == nil || !strings.Contains(err.Error(), "leaves out") {
		t.Errorf("without other keys: %v", err)
	}
	p.Paths = []string{"-"}
	if _, err := p.Suggest(context.Background(), most); !errors.Is(err, errTwice) {
		t.Errorf("from standard input: %v", err)
	}
}

// A record of the requests gives the suggestions that the engine gives, which decides on the log again and again.
func TestRecordDecidesAsTheEngine(t *testing.T) {
	seed := testsize.Seed()
	suggested := map[string]bool{}
	for n := range testsize.Pick(40, 2000) {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		path := filepath.Join(t.TempDir(), "log.json")
		if err := os.WriteFile(path, randomLog(r), 0o600); err != nil {
			t.Fatal(err)
		}
		plan := func() *Plan {
			return &Plan{Paths: []string{path}, Key: []string{"ip"}, Zone: time.UTC, MaxMemory: 1 << 30, Top: 1, Except: n % 3}
		}
		most := []float64{0.001, 0.01, 0.1, 0.5}[r.IntN(4)]
		now, with := plan(), plan()
		recorded, err := now.Suggest(t.Context(), most)
		if err != nil {
			t.Fatal(err)
		}
		read, err := with.suggest(t.Context(), most, &record{full: true})
		if err != nil || !reflect.DeepEqual(recorded, read) {
			t.Fatalf("seed %d, log %d, %v: %+v, and with the engine %+v, %v", seed, n, most, recorded, read, err)
		}
		if now.readings != 1 || with.readings < 3 {
			t.Fatalf("%d and %d readings", now.readings, with.readings)
		}
		suggested[recorded.Limits] = true
	}
	if len(suggested) < 10 {
		t.Errorf("only %d different suggestions", len(suggested))
	}
}

// randomLog has bursts and pauses of all lengths, of a few keys, with fractions of seconds, and now and then a time
// that goes back.
func randomLog(r *rand.Rand) []byte {
	var log bytes.Buffer
	pause := math.Pow(10, 8*r.Float64()-4) // seconds
	at := 1.7e9
	for range 300 + r.IntN(1500) {
		if at += r.ExpFloat64() * pause; r.IntN(20) == 0 {
			at += (r.Float64() - 0.1) * 100 * pause
		}
		fmt.Fprintf(&log, `{"ip":"k%d","time":%.*f}`+"\n", int(r.ExpFloat64()*4), r.IntN(4), at)
	}
	return log.Bytes()
}

// A record that takes too much memory is given up, and the suggestion is the same.
func TestRecordIsGivenUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log.json")
	var log bytes.Buffer
	for i := range 4 * checkEvery {
		fmt.Fprintf(&log, `{"ip":"k%d","time":%d}`+"\n", i%5, i/100)
	}
	if err := os.WriteFile(path, log.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	plan := func(memory int64) *Plan {
		return &Plan{Paths: []string{path}, Key: []string{"ip"}, Zone: time.UTC, MaxMemory: memory, Top: 1}
	}
	small, large := plan(1<<20), plan(1<<30)
	got, err := small.Suggest(t.Context(), 0.01)
	want, failed := large.Suggest(t.Context(), 0.01)
	if err != nil || failed != nil || !reflect.DeepEqual(got, want) || small.readings < 3 || large.readings != 1 {
		t.Errorf("%+v, %v in %d readings; %+v, %v in %d", got, err, small.readings, want, failed, large.readings)
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

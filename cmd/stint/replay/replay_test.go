package replay

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/internal/testsize"
)

func replayed(t *testing.T, p Plan, log string, limits ...string) (*Report, error) {
	t.Helper()
	p.Paths, p.Stdin, p.Top = []string{"-"}, strings.NewReader(log), 5
	if p.Zone == nil {
		p.Zone = time.UTC
	}
	if p.MaxMemory == 0 {
		p.MaxMemory = 1 << 30
	}
	if p.Key == nil {
		p.Key = []string{"ip"}
	}
	for _, text := range limits {
		l, err := ParseLimits(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Limits = append(p.Limits, l)
	}
	return p.Run(context.Background())
}

// TestByteOrderMark: a log that went through a program of Windows may begin with one, also when it is packed.
func TestByteOrderMark(t *testing.T) {
	log := "\ufeff" + `{"time":"2026-11-28T00:00:00Z","ip":"1.2.3.4"}` + "\n" + `{"time":"2026-11-28T00:00:01Z","ip":"1.2.3.4"}` + "\n"
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write([]byte(log)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"plain": log, "packed": packed.String()} {
		if r, err := replayed(t, Plan{}, text, "TB {} 1 1/s"); err != nil || r.Requests != 2 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// jsonLog writes lines "key path second".
func jsonLog(lines ...string) string {
	var log strings.Builder
	for _, line := range lines {
		var ip, path string
		var second float64
		fmt.Sscan(line, &ip, &path, &second)
		fmt.Fprintf(&log, `{"ip":%q,"path":%q,"time":%.3f}`+"\n", ip, path, 1795379065+second)
	}
	return log.String()
}

// A bucket of 2 with 1 token in 10 s denies the requests that it would deny on a server, at the times of the log.
func TestDecisions(t *testing.T) {
	log := jsonLog("a / 0", "a / 0", "a / 0", "b / 1", "a / 5", "a / 10", "a / 10.5", "a / 25")
	o, err := replayed(t, Plan{}, log, "TB {} 2 1/10s", "TB key:{} 1 1/10s FW all:{path} 3 1h")
	if err != nil {
		t.Fatal(err)
	}
	// The first denies a at 0, 5 and 10.5.
	first, second := o.Limits[0], o.Limits[1]
	if o.Requests != 8 || o.Keys != 2 || first.Denied != 3 || first.DeniedKeys != 1 {
		t.Errorf("%+v", o)
	}
	if len(first.Runs) != 2 || first.Runs[0].Denied != 2 || first.Runs[0].From != o.From || first.Runs[1].Denied != 1 {
		t.Errorf("runs %+v", first.Runs)
	}
	if k := first.MostDenied; len(k) != 1 || k[0] != (KeyLine{"a", 7, 3, 3.0 / 7}) {
		t.Errorf("most denied %+v", k)
	}
	// The second grants a at 0, b at 1 and a at 10. Then the window is full, and makes a wait longer than the bucket does.
	if second.Denied != 5 || second.ByLimit[0].Denied != 3 || second.ByLimit[1].Denied != 2 {
		t.Errorf("two limits: %+v", second)
	}
	if second.Runs[0].Denied != 3 || second.Runs[0].To != o.From.Add(5*time.Second) {
		t.Errorf("runs of two limits: %+v", second.Runs)
	}
	var sum, denied int64
	for i := range o.PerInterval {
		sum, denied = sum+o.PerInterval[i], denied+first.PerInterval[i]
	}
	if sum != 8 || denied != 3 {
		t.Errorf("intervals: %v, %v", o.PerInterval, first.PerInterval)
	}
}

func TestUnreadAndBackwards(t *testing.T) {
	o, err := replayed(t, Plan{}, jsonLog("a / 100", "a / 40", "a / 101")+"broken\x1b[2J\n", "TB {} 1 1/s")
	if err != nil {
		t.Fatal(err)
	}
	if o.Backwards != 1 || o.FurthestBack != int64(time.Minute) || o.Limits[0].Denied != 1 {
		t.Errorf("%+v", o)
	}
	if o.Unread != 1 || !strings.Contains(o.FirstUnread, "line 4") || strings.Contains(o.FirstUnread, "\x1b") {
		t.Errorf("unread: %d, %q", o.Unread, o.FirstUnread)
	}
	if _, err := replayed(t, Plan{}, `{"ip":"a","time":"x"}`, "TB {} 1 1/s"); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("no line could be read: %v", err)
	}
	if _, err := replayed(t, Plan{}, "", "TB {} 1 1/s"); err == nil {
		t.Error("an empty log was replayed")
	}
}

func TestJoinedKey(t *testing.T) {
	o, err := replayed(t, Plan{Key: []string{"ip", "path"}}, jsonLog("a /x 0", "a /y 0", "a /x 0"), "TB {} 1 1/h")
	if err != nil || o.Keys != 2 || o.Top[0].Key != "a:/x" || o.Limits[0].Denied != 1 {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestLimits(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "no limit",
		"XX {} 1 1/s":         "XX",
		"100/minute":          "such as 'TB {} 100 10/s'",
		"TB {} 0 1/s":         "capacity",
		"CC {} 1 1m {}":       "CC needs",
		"TB {} 1 1/s EXTRA":   "EXTRA",
		"TB {a}{b} 1 1/s":     ":",
		"SL {} 10000000 1m":   "log",
		"TB {} 1 1/s SHADOW":  "",
		"LQ {} 5 1/s":         "",
		"tb {}:{path} 1 10/m": "",
	} {
		_, err := ParseLimits(text)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// manyKeys is a log with a new key on each line.
func manyKeys(n int64) string {
	var log strings.Builder
	for i := range n {
		fmt.Fprintf(&log, `{"ip":"10.%d.%d.%d","time":1795379065}`+"\n", i>>16, i>>8&255, i&255)
	}
	return log.String()
}

func TestMemory(t *testing.T) {
	keys := int64(testsize.Pick(250_000, 1_000_000))
	log := manyKeys(keys)
	o, err := replayed(t, Plan{}, log, "TB {} 100 1/s")
	if err != nil {
		t.Fatal(err)
	}
	if each := o.Memory / keys; each > 200 || each < 50 {
		t.Errorf("%d bytes for a key", each)
	}
	t.Logf("%d bytes for a key, %d of them of the engine", o.Memory/keys, o.Limits[0].Bytes/keys)
	_, err = replayed(t, Plan{MaxMemory: 16 * keys}, log, "TB {} 100 1/s")
	if !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "--max-memory") {
		t.Errorf("with 16 bytes for a key: %v", err)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	plain, packed := filepath.Join(dir, "a.json"), filepath.Join(dir, "b.json.gz")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(jsonLog("a / 1", "a / 2")))
	z.Close()
	if err := errors.Join(os.WriteFile(plain, []byte(jsonLog("a / 0")), 0o600), os.WriteFile(packed, b.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	l, err := ParseLimits("TB {} 1 1/h")
	if err != nil {
		t.Fatal(err)
	}
	p := Plan{Paths: []string{plain, packed}, Key: []string{"ip"}, Zone: time.UTC, MaxMemory: 1 << 30, Top: 1, Limits: []*Limits{l}}
	o, err := p.Run(context.Background())
	if err != nil || o.Requests != 3 || o.Limits[0].Denied != 2 {
		t.Errorf("%+v, %v", o, err)
	}
	cut := filepath.Join(dir, "c.json.gz")
	if err := os.WriteFile(cut, b.Bytes()[:b.Len()-9], 0o600); err != nil {
		t.Fatal(err)
	}
	p.Paths = []string{plain, cut}
	if _, err := p.Run(context.Background()); err == nil || !strings.Contains(err.Error(), cut) {
		t.Errorf("a log that is cut off: %v", err)
	}
	p.Paths = []string{dir}
	if _, err := p.Run(context.Background()); err == nil {
		t.Error("a directory was read")
	}
}

func TestLongLine(t *testing.T) {
	o, err := replayed(t, Plan{}, jsonLog("a / 0")+strings.Repeat("x", 3*maxLine)+"\n"+jsonLog("a / 1"), "TB {} 1 1/h")
	if err != nil || o.Unread != 1 || o.Requests != 2 {
		t.Errorf("%+v, %v", o, err)
	}
}

// Text of the log does not control the terminal.
func TestText(t *testing.T) {
	o, err := replayed(t, Plan{}, `{"ip":"\u001b[2J","time":1}`+"\n"+`{"ip":"\u001b[2J","time":1}`, "TB {} 1 1/h")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := o.WriteText(&text); err != nil || !strings.Contains(text.String(), "denied  1 request, 50 %; 1 key denied") || strings.Contains(text.String(), "\x1b") || !strings.Contains(text.String(), "?[2J") {
		t.Errorf("%v: %q", err, text.String())
	}
}

func TestSeries(t *testing.T) {
	var s series
	for at := uint32(0); at < 10_000; at++ {
		s.add(at)
	}
	var sum int64
	for i, n := range s.counts {
		sum += n
		if i < 10_000/int(s.width) && n != int64(s.width) {
			t.Errorf("interval %d has %d events, its width is %d", i, n, s.width)
		}
	}
	if sum != 10_000 || s.width != 64 {
		t.Errorf("%d events in intervals of %d s", sum, s.width)
	}
}

// After the first lines nothing is allocated for a line.
func TestAllocations(t *testing.T) {
	for _, log := range []string{`{"ip":"a","time":1795379065}`, `a - - [22/Nov/2026:20:24:25 +0000] "GET / HTTP/1.0" 304 -`} {
		lines := strings.Split(strings.TrimSpace(log), "\n")
		p, _, err := newParser("", []byte(lines[0]), []string{"ip"}, "", &clock{zone: time.UTC})
		if err != nil {
			t.Fatal(err)
		}
		l, _ := ParseLimits("TB {} 1 1/s")
		c, line, values := newCandidate(l), []byte(lines[len(lines)-1]), make([][]byte, 1)
		p.parse([]byte(lines[0]), values)
		if n := testing.AllocsPerRun(100, func() {
			now, err := p.parse(line, values)
			if err != nil {
				t.Fatal(err)
			}
			c.note(0, 0, c.ask(now, values[0], nil))
		}); n > 0 {
			t.Errorf("%v allocations for %s", n, line)
		}
	}
}

func BenchmarkReplay(b *testing.B) {
	var log bytes.Buffer
	for i := range 100_000 {
		k := i * 7919 % 20_000
		fmt.Fprintf(&log, `10.0.%d.%d - - [22/Nov/2026:20:24:%02d +0000] "GET /api/items/%d HTTP/1.1" 200 512 "https://example.com/" "Mozilla/5.0 (X11; Linux x86_64)"`+"\n", k>>8, k&255, i*60/100_000, i)
	}
	l, err := ParseLimits("TB {} 5 1/s")
	if err != nil {
		b.Fatal(err)
	}
	requests := 0
	for b.Loop() {
		p := Plan{Paths: []string{"-"}, Stdin: bytes.NewReader(log.Bytes()), Key: []string{"ip"}, Zone: time.UTC, MaxMemory: 1 << 30, Top: 10, Limits: []*Limits{l}}
		o, err := p.Run(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		requests += int(o.Requests)
	}
	b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "requests/s")
}

// A class is denied beyond its assured rate while others are assured the rest, and begins with the tokens that its
// ancestor has left.
func TestTrees(t *testing.T) {
	o, err := replayed(t, Plan{}, jsonLog("a / 0", "b / 0", "a / 0", "a / 0", "b / 0"), "HT key:{} 2 1/h 4 1/h UNDER all 4 1/h", "HT key:{} 2 1/h 4 1/h UNDER all 5 1/h")
	if err != nil || o.Limits[0].Denied != 2 || o.Limits[1].Denied != 1 {
		t.Errorf("%+v, %v", o, err)
	}
}

// The key also stands for {} in the member of a fair share.
func TestMembers(t *testing.T) {
	o, err := replayed(t, Plan{}, jsonLog("a / 0", "a / 0", "b / 0"), "FS all 2 1/h {}", "FS all 2 1/h x")
	if err != nil || o.Limits[0].Denied != 1 || o.Limits[1].Denied != 2 {
		t.Errorf("%+v, %v", o, err)
	}
}

// Package comparison puts the same traffic through every algorithm, in virtual time and with the engine alone, and
// measures how far the sliding window counter's estimate is off. Its tests hold tables.txt, and the claims in
// docs/algorithms.md and beside the pictures. Nothing in it depends on a clock or on chance, so the same source always
// gives the same figures.
package comparison

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
)

const (
	ms     = int64(time.Millisecond)
	second = int64(time.Second)

	// firstArrival is 5 s after an instant that every window by the clock begins at, an odd second.
	firstArrival = 1_800_000_000*second + 5*second
)

// traffic is when requests arrive, after 5 s in which there were none. The limiter's first window by the clock began
// 1 s before the first request.
type traffic struct {
	arrivals []int64 // nanoseconds since the first
}

// evenly spaces n requests over a time.
func evenly(n int, over time.Duration) (t traffic) {
	for i := range n {
		t.arrivals = append(t.arrivals, int64(over)*int64(i)/int64(n))
	}
	return t
}

var (
	burst     = evenly(200, 100*time.Millisecond)
	sustained = evenly(600, 2*time.Second)
)

// contender is a row of the table: an algorithm with the parameters that come nearest to 100 a second and 200 at once.
type contender struct {
	name, command string // as the table has them
	op            engine.Op
	hold          time.Duration // a lease is released after this long
}

const simulationHeader = "| algorithm | command | burst: at once | longest delay | sustained: granted | longest delay |"

// contenders reads the rows of the table.
func contenders(t *testing.T) (all []contender) {
	t.Helper()
	_, table, _ := strings.Cut(readTables(t), simulationHeader+"\n")
	row := regexp.MustCompile("^\\| ([^|]+) \\| (`([^`]+)`(?:, released after ([0-9]+) s)?) \\|")
	for line := range strings.Lines(table) {
		cells := row.FindStringSubmatch(line)
		if cells == nil {
			if len(all) > 0 {
				break
			}
			continue
		}
		r := command.Request{Args: bytes.Fields([]byte(cells[3])), Bounds: command.Bounds{MaxKeyBytes: 100, MaxLogLimit: 1000}}
		known, err := command.Find(r.Args)
		if err == nil {
			err = known.Parse(&r)
		}
		if err != nil {
			t.Fatalf("%s: %v", cells[3], err)
		}
		seconds, _ := strconv.Atoi(cells[4])
		all = append(all, contender{cells[1], cells[2], r.Ops[0], time.Duration(seconds) * time.Second})
	}
	if len(all) < 13 {
		t.Fatalf("the table has %d algorithms", len(all))
	}
	return all
}

func readTables(t *testing.T) string {
	t.Helper()
	tables, err := os.ReadFile("tables.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(tables)
}

// checkTable checks that tables.txt has a table of these rows.
func checkTable(t *testing.T, header string, rows []string) {
	t.Helper()
	want := header + "\n|" + strings.Repeat("---|", strings.Count(header, "|")-1) + "\n" + strings.Join(rows, "\n") + "\n\n"
	if !strings.Contains(readTables(t)+"\n", want) {
		t.Errorf("docs/comparison/tables.txt does not have this table:\n%s", want)
	}
}

// outcome is what became of the requests.
type outcome struct {
	accepted, rejected, delayed int
	longest                     int64   // delay, nanoseconds
	through                     []int64 // when each accepted request was let through, since the first arrival, in order
}

// run has a contender decide a traffic.
func run(c contender, t traffic) (o outcome) {
	keys := store.New(store.Config{Shards: 1})
	defer keys.Close()
	results := make([]engine.Result, 1)
	var leases []int64 // holders in the order in which they started; each ends c.hold later
	for i, after := range t.arrivals {
		now := firstArrival + after
		for c.hold > 0 && len(leases) > 0 && t.arrivals[leases[0]]+int64(c.hold) <= after {
			keys.Apply(now, []engine.Op{{Verb: engine.Release, Key: c.op.Key, Who: holder(leases[0])}}, results)
			leases = leases[1:]
		}
		op := c.op
		if c.hold > 0 {
			op.Who = holder(int64(i))
		}
		keys.Apply(now, []engine.Op{op}, results)
		res := results[0]
		if !res.Allowed {
			o.rejected++
			continue
		}
		o.accepted++
		if c.hold > 0 {
			leases = append(leases, int64(i))
		}
		if res.Wait > 0 {
			o.delayed++
		}
		o.longest = max(o.longest, res.Wait)
		o.through = append(o.through, after+res.Wait)
	}
	slices.Sort(o.through)
	return o
}

func holder(i int64) []byte { return strconv.AppendInt(nil, i, 10) }

// before counts the requests let through before a time.
func (o outcome) before(end time.Duration) int {
	n, _ := slices.BinarySearch(o.through, int64(end))
	return n
}

// TestSimulation checks the table, and the words of the picture, which was drawn once.
func TestSimulation(t *testing.T) {
	picture, err := os.ReadFile("../algorithms.svg")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, c := range contenders(t) {
		b, s := run(c, burst), run(c, sustained)
		rows = append(rows, fmt.Sprintf("| %s | %s | %d | %s | %d | %s |", c.name, c.command,
			b.before(100*time.Millisecond), delay(b.longest), s.accepted, delay(s.longest)))
		var words [][]string // below the name
		if at := regexp.MustCompile(`(>|· )` + regexp.QuoteMeta(c.name) + `(<| ·)`).FindIndex(picture); at != nil {
			words = regexp.MustCompile(`>([0-9]+ accepted[^<]*)<`).FindAllStringSubmatch(string(picture[at[1]:]), 2)
		}
		if len(words) < 2 || words[0][1] != summary(b) || words[1][1] != summary(s) {
			t.Errorf("algorithms.svg has %q for %s, want %q and %q", words, c.name, summary(b), summary(s))
		}
	}
	checkTable(t, simulationHeader, rows)
}

func summary(o outcome) string {
	words := fmt.Sprintf("%d accepted", o.accepted)
	if o.rejected > 0 {
		words += fmt.Sprintf(", %d rejected", o.rejected)
	}
	if o.delayed > 0 {
		words += fmt.Sprintf(", %d delayed up to %s", o.delayed, delay(o.longest))
	}
	return words
}

func delay(nanos int64) string {
	if nanos == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f s", float64(nanos)/float64(second))
}

// TestClaims checks the claims of the page.
func TestClaims(t *testing.T) {
	of := map[string][2]outcome{}
	for _, c := range contenders(t) {
		of[c.name] = [2]outcome{run(c, burst), run(c, sustained)}
	}
	for name, o := range of {
		smooths := name == "leaky bucket as a queue"
		most := 200
		if name == "fair share, one member" {
			most = 187 // eight ninths, and the refill meanwhile
		}
		if o[0].accepted != most || (o[0].before(100*time.Millisecond) == most) == smooths {
			t.Errorf("%s: of the burst %d were accepted, %d let through at once", name, o[0].accepted, o[0].before(100*time.Millisecond))
		}
	}
	for _, same := range [][2]string{{"token bucket", "GCRA"}, {"token bucket", "leaky bucket as a meter"}} {
		for i := range 2 {
			a, b := of[same[0]][i], of[same[1]][i]
			if a.accepted != b.accepted || !slices.Equal(a.through, b.through) || a.delayed+b.delayed != 0 {
				t.Errorf("%s and %s differ", same[0], same[1])
			}
		}
	}
	queue := of["leaky bucket as a queue"][1].through
	for i := range len(queue) - 1 {
		if gap := queue[i+1] - queue[i]; gap < 10*ms {
			t.Errorf("the queue lets two requests out %d ns apart", gap)
		}
	}
}

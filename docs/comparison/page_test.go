package comparison

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// lastCell is the number in the last cell of the row of tables.txt that begins with these cells.
func lastCell(t *testing.T, begin string) int {
	t.Helper()
	row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(begin) + ` \|.* ([0-9]+) \|$`).FindStringSubmatch(readTables(t))
	if row == nil {
		t.Fatalf("tables.txt has no row that begins with %q", begin)
	}
	n, _ := strconv.Atoi(row[1])
	return n
}

// TestPageFigures holds the sentences of docs/algorithms.md to the tables.
func TestPageFigures(t *testing.T) {
	text, err := os.ReadFile("../algorithms.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ")
	each := func(many string, first int) int { return (lastCell(t, " | "+many) - first + 999/2) / 999 } // of 999 more
	log, lease, member := lastCell(t, "sliding window log | 1 request in the window"), lastCell(t, "concurrency | 1 holder with a name of 16 bytes"),
		lastCell(t, "fair share | 1 active member with a name of 16 bytes")
	for _, sentence := range []string{
		fmt.Sprintf("%d bytes for a bucket, %d for a window, %d for an adaptive rate, and %d for a window in 20 segments",
			lastCell(t, "GCRA, token bucket, both leaky buckets"), lastCell(t, "fixed window"), lastCell(t, "adaptive rate"),
			lastCell(t, "sliding window in segments | 20 segments")),
		fmt.Sprintf("A log takes %d bytes, and %d for each request", log, each("1,000 requests, limit 1,000", log)),
		fmt.Sprintf("takes %d with one lease, and %d for each further lease", lease, each("1,000 holders", lease)),
		fmt.Sprintf("A fair share takes %d with one member, and %d for each further member", member, each("1,000 active members", member)),
		fmt.Sprintf("A class takes %d, and %d for each class below it", lastCell(t, "class of a tree | class without others under it"),
			each("root with 1,000 registered classes", lastCell(t, " | root with 1 registered class"))),
		fmt.Sprintf("at most %d in any 60 s to random requests at the rate of the limit, %d to batches of 20 requests, and %d to batches of 100. In the worst case, it granted %d",
			lastCell(t, "at random, 1 × the limit"), lastCell(t, "in batches of 20, 1 × the limit"),
			lastCell(t, "in batches of 100, 1 × the limit"), lastCell(t, "the worst: 100 at the end of each of two windows, then a pause")),
	} {
		if !strings.Contains(page, sentence) {
			t.Errorf("docs/algorithms.md lacks %q", sentence)
		}
	}
}

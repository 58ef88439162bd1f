package docs

import (
	"flag"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var proseIn = flag.String("prose", "", "list the places that TestProse counts in files whose path begins with this")

// habits are ways of writing that make a reader stop, and the most there may be of each in 1,000 words of comments and
// pages. Lower a bound when the text has become better; do not raise one.
var habits = []struct {
	name    string
	finds   string // regular expression, case-insensitive
	most    float64
	instead string
}{
	{"free relative", `\bwhat(ever)? (is|are|was|were|has|had|it|they|came|comes|one|each|a|an|the|this|that|goes|lies|stands|remains|waits|follows|changes|changed)\b`, 0.25,
		`the noun: "the usage" for "what was taken"`},
	{"speaking thing", `\b((is|are|was|were|be|been|unless) told|tells?|(setting|flag|header|file|field|page|table|option|journal|name|bit|state|log|record|row|decision|policy|lease|reply|error|message|line|column|comment|it|that|which) says)\b`, 0.15,
		"shows, contains, means, reports, or a passive"},
	{"of its own", `\b(of (its|their|his|our) own|by (itself|themselves))\b`, 0.1,
		"own, separate, automatically, alone"},
	{"causal as or for", `, (as|for) (it|they|the|a|an|there|this|that|no|nobody|nothing|its|their|otherwise|most|all|one|we)\b`, 0.15,
		"because, since, or a sentence for the reason"},
	{"any more, anew", `\b(any more|anew|beforehand|meanwhile)\b`, 0.08,
		"longer, again, before, until then"},
	{"headless who", `\b(whoever|those who|he who)\b|[.:;,] who (is|are|has|may|asks|knows|can|does|sends|reads|waits|connects|cannot)\b`, 0.08,
		"clients that, a caller that"},
	{"so many", `\bso (many|much|long|few|often)\b|\bas good as new\b`, 0.08,
		"a number; expired; at its full limit"},
}

// passage is prose without a line break: a paragraph or a group of comments.
type passage struct {
	path string
	line int
	text string
}

// mostInPages bounds each habit in the Markdown files alone.
const mostInPages = 0.1

// TestProse counts habits in pages, and in pages and comments.
func TestProse(t *testing.T) {
	var all []passage
	for _, p := range allPages(t) {
		all = append(all, p.passages()...)
	}
	pages := len(all)
	for _, path := range findFiles(t, "*.go") {
		all = append(all, comments(t, path)...)
	}
	for _, h := range habits {
		finds := regexp.MustCompile("(?i)" + h.finds)
		for _, p := range all {
			if *proseIn == "" || !strings.HasPrefix(p.path, *proseIn) {
				continue
			}
			for _, at := range finds.FindAllStringIndex(p.text, -1) {
				t.Logf("%s:%d: %s: …%s…", p.path, p.line, h.name, p.text[max(0, at[0]-50):min(len(p.text), at[1]+50)])
			}
		}
		inAll, inPages := rate(all, finds), rate(all[:pages], finds)
		t.Logf("%-16s %.2f in 1,000 words, %.2f in pages", h.name, inAll, inPages)
		if inAll > h.most || inPages > mostInPages {
			t.Errorf("%q: %.2f in 1,000 words, at most %.2f; in pages %.2f, at most %.2f; write %s. go test ./docs -v -run TestProse -prose PATH lists the places",
				h.name, inAll, h.most, inPages, mostInPages, h.instead)
		}
	}
}

// rate is the number of finds in 1,000 words.
func rate(all []passage, finds *regexp.Regexp) float64 {
	count, words := 0, 0
	for _, p := range all {
		count += len(finds.FindAllStringIndex(p.text, -1))
		words += len(strings.Fields(p.text))
	}
	return 1000 * float64(count) / float64(words)
}

// passages are the paragraphs of a page, without its fenced blocks.
func (p page) passages() (all []passage) {
	start, lines := 0, []string{}
	for i, line := range append(p.prose(), "") {
		if line != "" {
			if len(lines) == 0 {
				start = i + 1
			}
			lines = append(lines, strings.TrimSpace(line))
		} else if len(lines) > 0 {
			all = append(all, passage{p.path, start, strings.Join(lines, " ")})
			lines = nil
		}
	}
	return all
}

// comments are the groups of comments of a Go file, without directives.
func comments(t *testing.T, path string) (all []passage) {
	t.Helper()
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, filepath.Join(root, path), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range tree.Comments {
		text := strings.Join(strings.Fields(group.Text()), " ")
		all = append(all, passage{path, set.Position(group.Pos()).Line, text})
	}
	return all
}

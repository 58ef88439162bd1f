package screen

import (
	"strings"
	"testing"
)

func TestCluster(t *testing.T) {
	v := View{Version: "1", Ready: "no leader"}
	v.Top.Mode = "off"
	v.Cluster = &Cluster{NodeID: "a", Term: 7, Members: []Member{{"a", true, true, true, 0}, {"b", true, false, false, 12}},
		Groups: []Group{{1, "0-8191", "b", 3, 5, 99, []string{"b", "c"}}, {2, "8192-16383", "", 4, 0, 7, nil}}}
	v.Problems = []struct{ Text string }{{"Node b cannot be reached"}}
	var out strings.Builder
	d := Drawing{Host: "x"}
	d.Draw(&out, &v)
	lines := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"(term 7)", "Problem: Node b cannot be reached", "a follower this node 0", "b leads 1 no 12", "1 b 3 5 99 0-8191 b c", "2 none 4 0 7 8192-16383", "--top-keys is off"} {
		if !strings.Contains(lines, want) {
			t.Errorf("it does not contain %q:\n%s", want, &out)
		}
	}
	v.Cluster.Groups = nil
	out.Reset()
	if d.Draw(&out, &v); !strings.Contains(strings.Join(strings.Fields(out.String()), " "), "a leader this node 0") {
		t.Errorf("without groups:\n%s", &out)
	}
}

// Colours change nothing else: without their codes, the page is the same.
func TestColours(t *testing.T) {
	v := View{Version: "1", Ready: "ready", Problems: []struct{ Text string }{{"Node b cannot be reached"}}}
	v.Cluster = &Cluster{NodeID: "a", Members: []Member{{"a", true, true, true, 0}, {"node-b", true, false, false, 12}}}
	var colourful, without strings.Builder
	(&Drawing{Host: "x", Coloured: true}).Draw(&colourful, &v)
	(&Drawing{Host: "x"}).Draw(&without, &v)
	got := colourful.String()
	for _, want := range []string{"\x1b[31mProblem:\x1b[00m", "\x1b[33mdegraded\x1b[00m", "\x1b[31mnode-b\x1b[00m"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
	for _, style := range []string{plain, bold, red, yellow} {
		got = strings.ReplaceAll(got, "\x1b["+style+"m", "")
	}
	if got != without.String() {
		t.Errorf("with colours, without their codes:\n%s\nwithout colours:\n%s", got, &without)
	}
}

func TestScreen(t *testing.T) {
	var out strings.Builder
	s, err := Open(&out)
	if err != nil {
		t.Fatal(err)
	}
	s.height = func() int { return 3 }
	for _, page := range []string{"a\nb\nc\n", "a\nb\nc\nd\n"} {
		if err := s.Show([]byte(page)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := enter + home + "a\x1b[K\nb\x1b[K\nc\x1b[K\x1b[J" +
		home + "a\x1b[K\nb\x1b[K\n2 more lines: stint top --once prints all of them\x1b[K\x1b[J" + leave
	if out.String() != want {
		t.Errorf("the terminal gets %q, want %q", &out, want)
	}
}

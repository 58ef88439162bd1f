package store

import (
	"slices"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/limits"
)

func TestLooksHaveDetails(t *testing.T) {
	s := New(Config{})
	defer s.Close()
	tree := treeOp(1, bucketOf(limits.TokenBucket, 5, 2, sec), []string{"class", "root"}, bucketOf(limits.Class, 10, 10, sec), bucketOf(limits.Class, 20, 20, sec))
	for _, op := range []engine.Op{tree, {Key: []byte("pool"), Limit: fairShare(10, 10, sec), Tokens: 1, Who: []byte("one")},
		{Key: []byte("pace"), Limit: adaptiveLimit(10, 1, 10), Tokens: 1}, {Key: []byte("bucket"), Limit: bucket(5, 1, sec), Tokens: 1}} {
		ask(s, epoch, op)
	}
	ask(s, epoch, engine.Op{Verb: engine.Adapt, Key: []byte("pace"), Report: &engine.Report{Pause: 5*sec - 1, Every: sec, Down: 1, Up: 1}})
	for _, c := range []struct {
		key   string
		after int64
		want  []limits.Param
	}{
		{"class", 0, []limits.Param{{Name: "assured_capacity", Text: "5"}, {Name: "assured_rate", Text: "2/1s"}}},
		{"root", 0, []limits.Param{{Name: "classes", Text: "1"}, {Name: "assured_to_classes", Text: "5"}}},
		{"pool", 0, []limits.Param{{Name: "members", Text: "1"}}},
		{"pace", 0, []limits.Param{{Name: "present_rate", Text: "10"}, {Name: "pause_ms", Text: "5000"}}},
		{"pace", 5 * sec, []limits.Param{{Name: "present_rate", Text: "10"}}},
		{"bucket", 0, nil},
		{"absent", 0, nil},
	} {
		res := ask(s, epoch+c.after, engine.Op{Verb: engine.Look, Key: []byte(c.key)})
		if got := res.Details(); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.key, got, c.want)
		}
		for cut := range res.Reply {
			short := engine.Result{Reply: res.Reply[:cut]}
			short.Details() // must not panic
		}
	}
	tree.Parts[0].Key = []byte("other class")
	ask(s, epoch+300*sec, tree)
	res := ask(s, epoch+700*sec, engine.Op{Verb: engine.Look, Key: []byte("root")})
	if got := res.Details(); !slices.Equal(got, []limits.Param{{Name: "classes", Text: "1"}, {Name: "assured_to_classes", Text: "5"}}) {
		t.Errorf("%v, once one of two registrations is over", got)
	}
}

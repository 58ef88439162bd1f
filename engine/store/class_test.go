package store

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/internal/testsize"
)

// naiveBucket is a token bucket in exact fractions.
type naiveBucket struct {
	limit limits.Limit
	taken *big.Rat
	at    int64
}

func (b *naiveBucket) bringTo(now int64, l limits.Limit) {
	if b.taken == nil {
		b.taken, b.at = new(big.Rat), now
	}
	if b.limit.Rate.Tokens > 0 {
		back := new(big.Rat).Mul(big.NewRat(now-b.at, b.limit.Rate.Period), big.NewRat(b.limit.Rate.Tokens, 1))
		if b.taken.Sub(b.taken, back); b.taken.Sign() < 0 {
			b.taken.SetInt64(0)
		}
	}
	b.limit, b.at = l, now
}

// left is the tokens left, below zero after the capacity was lowered.
func (b *naiveBucket) left() *big.Rat {
	return new(big.Rat).Sub(big.NewRat(b.limit.Capacity, 1), b.taken)
}

func (b *naiveBucket) has(n int64) bool { return b.left().Cmp(big.NewRat(n, 1)) >= 0 }

// naiveNode is a node of a tree, with its registered children by name.
type naiveNode struct {
	ceiling, assured naiveBucket
	end              int64
	children         map[string]naiveChild
}

type naiveChild struct{ capacity, end int64 }

func (n *naiveNode) total(now int64) (sum int64) {
	if n.end > now {
		sum = n.assured.limit.Capacity
	}
	return sum + n.keeps(now)
}

func (n *naiveNode) keeps(now int64) (sum int64) {
	for _, child := range n.children {
		if child.end > now {
			sum += child.capacity
		}
	}
	return sum
}

// naiveTree is the rule of docs/algorithms.md, word by word.
type naiveTree map[string]*naiveNode

func (m naiveTree) node(name string) *naiveNode {
	if m[name] == nil {
		m[name] = &naiveNode{children: map[string]naiveChild{}}
	}
	return m[name]
}

// ask decides a request, and registers the class.
func (m naiveTree) ask(now int64, op *engine.Op) (granted, isAssured bool) {
	assured, _ := engine.Assured(op.Parts[0].Who)
	end, n := now/(10*sec)*(10*sec)+610*sec, op.Tokens
	var path []*naiveNode
	var names []string
	for _, p := range op.Parts {
		node := m.node(string(p.Key))
		node.ceiling.bringTo(now, p.Limit)
		path, names = append(path, node), append(names, string(p.Key))
	}
	class := path[0]
	isNew := class.end <= now || class.assured.limit != assured
	class.assured.bringTo(now, assured)
	class.end = end
	canPass := class.ceiling.has(n)
	canBorrow := class.ceiling.has(n + class.keeps(now))
	spare := big.NewRat(assured.Capacity, 1)
	for i := 1; i < len(path); i++ {
		parent, capacity := path[i], path[i-1].total(now)
		had := parent.children[names[i-1]]
		isNew = isNew || had.end <= now || had.capacity < capacity
		parent.children[names[i-1]] = naiveChild{capacity, end}
		keep := parent.total(now)
		canPass, canBorrow = canPass && parent.ceiling.has(n), canBorrow && parent.ceiling.has(n+keep)
		left := parent.ceiling.left()
		left = big.NewRat(new(big.Int).Div(left.Num(), left.Denom()).Int64(), 1) // a class begins with whole tokens
		if left.Sub(left, big.NewRat(keep-assured.Capacity, 1)); left.Cmp(spare) < 0 {
			spare = left
		}
	}
	if isNew {
		least := new(big.Rat).Sub(big.NewRat(assured.Capacity, 1), spare)
		if spare.Sign() < 0 {
			least.SetInt64(assured.Capacity)
		}
		if least.Cmp(class.assured.taken) > 0 {
			class.assured.taken = least
		}
	}
	isAssured = canPass && class.assured.has(n)
	if !isAssured && !canBorrow {
		return false, false
	}
	if isAssured {
		class.assured.taken.Add(class.assured.taken, big.NewRat(n, 1))
	}
	for _, node := range path {
		node.ceiling.taken.Add(node.ceiling.taken, big.NewRat(n, 1))
	}
	return true, isAssured
}

func bucketOf(a limits.Algorithm, capacity, tokens, period int64) limits.Limit {
	return limits.Limit{Algorithm: a, Capacity: capacity, Rate: limits.Rate{Tokens: tokens, Period: period}}
}

// treeOp asks a class, and names its ancestors up to the root.
func treeOp(n int64, assured limits.Limit, names []string, limits ...limits.Limit) engine.Op {
	op := engine.Op{Verb: engine.AcquireAll, Tokens: n}
	for i, l := range limits {
		op.Parts = append(op.Parts, engine.Op{Key: []byte(names[i]), Limit: l, Tokens: n})
	}
	op.Parts[0].Who = engine.AppendAssured(nil, assured.Capacity, assured.Rate)
	return op
}

// Random trees that change their parents and parameters decide as the naive model does, and never exceed a bucket.
func TestClassesEqualNaiveModel(t *testing.T) {
	granted, borrowed := 0, 0
	for round := range testsize.Pick(60, 200) {
		r := rand.New(rand.NewPCG(uint64(round), 18))
		s, model, now := New(Config{}), naiveTree{}, epoch
		for i := range 300 {
			now += r.Int64N(3 * sec)
			if r.IntN(60) == 0 {
				now += r.Int64N(900 * sec)
			}
			op := randomTree(r)
			if r.IntN(5) == 0 {
				peek := op
				peek.Options = engine.Peek
				ask(s, now, peek)
			}
			got := ask(s, now, op)
			want, isAssured := model.ask(now, &op)
			if got.Allowed != want || got.Status != engine.OK {
				t.Fatalf("round %d, request %d: %+v\nasks %+v, want %v", round, i, got, op, want)
			}
			for _, p := range op.Parts {
				if node := model[string(p.Key)]; want && node.ceiling.left().Sign() < 0 {
					t.Fatalf("round %d, request %d: %s has %v left", round, i, p.Key, node.ceiling.left())
				}
			}
			if want {
				granted++
				if !isAssured {
					borrowed++
				}
			}
			checkTree(t, s, now, op, got)
		}
		s.Close()
	}
	if granted < 1000 || borrowed < 100 {
		t.Errorf("%d granted, %d of them borrowed", granted, borrowed)
	}
}

// randomTree asks a class of a random tree: seldom with other parameters or parents than usual.
func randomTree(r *rand.Rand) engine.Op {
	k := r.Int64N(5)
	names := []string{fmt.Sprint("class", k), fmt.Sprint("team", k%2), "root"}
	more := int64(1)
	switch r.IntN(12) {
	case 0:
		names[1] = fmt.Sprint("team", r.IntN(3))
	case 1:
		more = 1 + r.Int64N(4)
	case 2:
		names[0] = names[1] // a class that others stand under
		names[1] = "other"
	}
	classes := []limits.Limit{bucketOf(limits.Class, 20*more, 7, sec), bucketOf(limits.Class, 25+5*more, 9, sec), bucketOf(limits.Class, 40, 13, sec)}
	if r.IntN(4) == 0 {
		names, classes = []string{names[0], "root"}, []limits.Limit{classes[0], classes[2]}
	}
	return treeOp(1+r.Int64N(1+r.Int64N(12)), bucketOf(limits.TokenBucket, 4+k, 1+k, sec), names, classes...)
}

// checkTree asks for the remaining tokens and for one more, and again after the wait of a denial.
func checkTree(t *testing.T, s *Store, now int64, op engine.Op, got engine.Result) {
	t.Helper()
	peek := func(n, later int64) engine.Result {
		again := op
		again.Options, again.Tokens, again.Parts = engine.Peek, n, append([]engine.Op(nil), op.Parts...)
		for i := range again.Parts {
			again.Parts[i].Options, again.Parts[i].Tokens = engine.Peek, n
		}
		return ask(s, now+later, again)
	}
	left := got.Parts[0].Remaining
	if left > 0 && !peek(left, 0).Allowed || peek(left+1, 0).Allowed {
		t.Fatalf("%+v says that %d remain: %v, and one more: %v", op, left, peek(left, 0).Allowed, peek(left+1, 0).Allowed)
	}
	if later, again := got.Wait, got; !got.Allowed && got.Wait != engine.NeverWait {
		for range 20 { // each time until some registration ends
			if again = peek(op.Tokens, later); again.Allowed || again.Wait == engine.NeverWait {
				break
			}
			later += again.Wait
		}
		if !again.Allowed || got.Wait <= 0 {
			t.Fatalf("%+v: a wait of %d, then denied for good: %+v", op, got.Wait, again)
		}
	}
	s.Scan(0, 1<<20, now, func(e keyspace.Entry) {
		if err := e.Check(); err != nil {
			t.Fatalf("an unreadable state: %v", err)
		}
	})
}

// Classes that stay within their assured rates are never denied if the sums fit, even while the others ask for too
// much.
func TestAssuredIsNeverDenied(t *testing.T) {
	for round := range testsize.Pick(50, 150) {
		r := rand.New(rand.NewPCG(uint64(round), 19))
		s, now := New(Config{}), epoch
		own := map[string]*naiveBucket{}
		root, lent := &naiveBucket{}, 0
		limit := bucketOf(limits.Class, 60, 30, sec)
		for i := range 600 {
			now += r.Int64N(sec / 8)
			k := r.Int64N(6)
			name := fmt.Sprint("class", k)
			assured := bucketOf(limits.TokenBucket, 2+k, 1+k/2, sec) // 27 and 12 in all
			n := 1 + r.Int64N(4)
			if k >= 3 {
				n = 1 + r.Int64N(20) // these flood
			}
			names, limits := []string{name, fmt.Sprint("team", k%2), "root"}, []limits.Limit{bucketOf(limits.Class, 100, 100, sec), bucketOf(limits.Class, 30, 20, sec), limit}
			b := own[name]
			if b == nil {
				b = &naiveBucket{}
				own[name] = b
				ask(s, now, treeOp(0, assured, names, limits...)) // registers it
				now += 30 * sec                                   // and the root is full
			}
			b.bringTo(now, assured)
			got := ask(s, now, treeOp(n, assured, names, limits...))
			if conforms := b.has(n); conforms && k < 3 && !got.Allowed {
				t.Fatalf("round %d, request %d: %s is assured %v and denied %d: %+v", round, i, name, b.left(), n, got)
			} else if got.Allowed && conforms {
				b.taken.Add(b.taken, big.NewRat(n, 1))
			} else if got.Allowed {
				lent++
			}
			root.bringTo(now, limit)
			if got.Allowed {
				root.taken.Add(root.taken, big.NewRat(n, 1))
			}
			if root.left().Sign() < 0 {
				t.Fatalf("round %d, request %d: the root has %v left", round, i, root.left())
			}
		}
		if lent == 0 {
			t.Errorf("round %d: nothing was lent", round)
		}
		s.Close()
	}
}

package stint

import (
	"context"
	"fmt"
	"time"
)

// maxAncestors is the largest number of nodes above a class.
const maxAncestors = 3

// A Class is a class in a tree, such as a plan or a team (HT.ACQUIRE). It has an assured rate and a ceiling, and
// borrows from its ancestors the tokens that they have beyond those assured to others. Every node of the tree is a
// token bucket under a key. All callers should describe the same tree: the tree is where their requests say it is.
type Class struct {
	// Key is the key of the class.
	Key string
	// Assured is the bucket that the class is never denied, while the assured capacities and rates under each ancestor
	// add up to at most the ancestor's. Ceiling is the most that it gets by borrowing.
	Assured, Ceiling Limit
	// Under are the 1 to 3 ancestors, the parent first and the root last.
	Under []Keyed
}

// AllowClass takes a token of a class. See [Limiter.AllowClassN].
func (l *Limiter) AllowClass(ctx context.Context, class Class) (Result, error) {
	return l.acquireClass(ctx, "AllowClass", class, 1, "")
}

// AllowClassN takes n tokens of a class, of its assured ones or of those that its ancestors have to lend, or none. The
// Result is the result of the class. See [Limiter.Allow] about err.
//
// [LocalShare] keeps to its share of the ceiling and of each ancestor, first come, first served. It assures nothing.
func (l *Limiter) AllowClassN(ctx context.Context, class Class, n int64) (Result, error) {
	return l.acquireClass(ctx, "AllowClass", class, n, "")
}

// PeekClass returns the answer of AllowClassN, and takes nothing.
func (l *Limiter) PeekClass(ctx context.Context, class Class, n int64) (Result, error) {
	return l.acquireClass(ctx, "Peek", class, n, "PEEK")
}

func (l *Limiter) acquireClass(ctx context.Context, operation string, class Class, n int64, option string) (Result, error) {
	begun := time.Now()
	class.Key = string(shortKey(class.Key))
	class.Under = shortened(class.Under)
	r, err := l.decideClass(ctx, class, n, option)
	if err != nil || r.Cause != nil {
		limits := append([]Keyed{On(class.Key, class.Ceiling)}, class.Under...)
		r = l.fallBack(ctx, limits, n, option, r, err)
	}
	l.tell(ctx, Decision{Operation: operation, Key: class.Key, Tokens: n, Allowed: r.Allowed, Source: r.Source, Duration: time.Since(begun)}, err, r.Cause)
	return r, err
}

func (l *Limiter) decideClass(ctx context.Context, class Class, n int64, option string) (Result, error) {
	if err := class.check(); err != nil {
		return Result{}, err
	}
	if n < 1 {
		return Result{}, errTokens(n)
	}
	return l.result(ctx, class.Ceiling, n, class.command(n, option))
}

// check refuses trees that the protocol cannot express, and ways that meet themselves.
func (c Class) check() error {
	if len(c.Under) < 1 || len(c.Under) > maxAncestors {
		return fmt.Errorf("%w: HT.ACQUIRE: a class has 1 to %d ancestors, got %d", ErrInvalid, maxAncestors, len(c.Under))
	}
	if err := c.checkNode("the assured rate", c.Assured); err != nil {
		return err
	}
	if err := c.checkNode("the ceiling", c.Ceiling); err != nil {
		return err
	}
	seen := map[string]bool{c.Key: true}
	for _, node := range c.Under {
		if seen[node.Key] {
			return fmt.Errorf("%w: HT.ACQUIRE: %q is named twice between the class and the root", ErrInvalid, node.Key)
		}
		seen[node.Key] = true
		if node.hasCost || node.keep != "" {
			return fmt.Errorf("%w: HT.ACQUIRE: an ancestor has no Cost and no Keep, got them for %q", ErrInvalid, node.Key)
		}
		if err := c.checkNode(fmt.Sprintf("ancestor %q", node.Key), node.Limit); err != nil {
			return err
		}
	}
	return nil
}

func (c Class) checkNode(name string, limit Limit) error {
	if limit.algorithm != tokenBucket {
		return fmt.Errorf("%w: HT.ACQUIRE: %s must be a token bucket, such as PerSecond(10).Burst(20), got %v", ErrInvalid, name, limit)
	}
	if err := limit.check(); err != nil {
		return fmt.Errorf("%s of class %q: %w", name, c.Key, err)
	}
	return nil
}

func (c Class) command(n int64, option string) []any {
	arguments := append(make([]any, 0, 9+4*len(c.Under)), "HT.ACQUIRE", c.Key)
	arguments = c.Ceiling.appendArguments(c.Assured.appendArguments(arguments))
	for _, node := range c.Under {
		arguments = node.Limit.appendArguments(append(arguments, "UNDER", node.Key))
	}
	arguments = append(arguments, "TOKENS", n)
	if option != "" {
		arguments = append(arguments, option)
	}
	return arguments
}

package command

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
)

const (
	designFile = "../DESIGN.md"
	costsBegin = "<!-- Costs: made by go generate ./server/command. -->\n"
	costsEnd   = "<!-- End of costs. -->\n"
)

// The table of costs in server/DESIGN.md is that of the classes, and names each command under its own.
func TestCostsAreDocumented(t *testing.T) {
	text, err := os.ReadFile(designFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), costsBegin)
	_, after, closed := strings.Cut(rest, costsEnd)
	if !found || !closed {
		t.Fatal("server/DESIGN.md has no place for the costs")
	}
	want := before + costsBegin + costTable() + costsEnd + after
	if *update {
		if err := os.WriteFile(designFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Error("server/DESIGN.md has other costs: run go generate ./server/command")
	}
}

func costTable() string {
	var out strings.Builder
	out.WriteString("| commands | work at most | bytes of a reply at most | because |\n|---|---|---|---|\n")
	for class := Light; int(class) < len(costs); class++ {
		var names []string
		for _, row := range All {
			if row.Cost == class && !slices.Contains(names, row.FullName) && row.Name != "help" {
				names = append(names, row.FullName)
			}
		}
		list := "`" + strings.ToUpper(strings.ReplaceAll(strings.Join(names, "`, `"), "|", " ")) + "`"
		if class == Light {
			list = "all others"
		}
		c := costs[class]
		fmt.Fprintf(&out, "| %s | %d | %d | %s |\n", list, c.Work, c.Bytes, c.Because)
	}
	return out.String()
}

// Operations whose work grows with the state of a key are declared so, in every command that makes them.
func TestCostsCoverOperations(t *testing.T) {
	for _, row := range All {
		if row.Parse == nil {
			continue
		}
		r := Request{Args: exampleCall(row)}
		r.SetBounds(Bounds{MaxKeyBytes: 4096, MaxLogLimit: 100_000})
		if err := row.Parse(&r); err != nil {
			t.Fatalf("%s: %v", row.FullName, err)
		}
		least := 0
		for i := range r.Ops {
			least += leastWork(&r.Ops[i])
		}
		if got := row.WorkOf(r.Ops); got < least {
			t.Errorf("%s can take %d of work, and the Cost in its row allows %d: choose another class of cost.go", row.FullName, least, got)
		}
	}
}

// leastWork is the least work that a class must declare for an operation.
func leastWork(op *engine.Op) (work int) {
	switch {
	case op.Verb == engine.AcquireAll:
		for i := range op.Parts {
			work += leastWork(&op.Parts[i])
		}
		return work
	case op.Verb == engine.Leases:
		return MaxBatchWork // so that it is decided alone
	case op.Verb == engine.Acquire && op.Limit.Algorithm == engine.SlidingLog || op.Verb == engine.Refund:
		return engine.MaxLogWork
	case op.Verb == engine.Acquire && op.Limit.Algorithm != engine.Concurrency, op.Verb == engine.Delete, op.Verb == engine.Flush,
		op.Verb == engine.SetPolicy, op.Verb == engine.DropPolicy, op.Verb == engine.SetOverride:
		return engine.OpWork // these do not read the state that a key holds
	}
	return engine.MaxHolderWork
}

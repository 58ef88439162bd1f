package persistence

import (
	"fmt"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/engine/transaction"
)

// valueOf is a value of each kind, which expires after a day.
var valueOf = map[engine.Kind][]byte{
	engine.StringKind:    []byte("text"),
	engine.HashKind:      firstOf(datatype.Hash(nil).Set(words("field", "value"))),
	engine.SortedSetKind: datatype.SortedSet(nil).Insert([]byte("member"), 1.5),
	engine.ListKind:      datatype.List(nil).PushTail(words("head", "tail")),
	engine.SetKind:       datatype.SetOf(words("member")),
	engine.StreamKind:    datatype.NewStream().Add(datatype.StreamID{Ms: 1, Seq: 2}.Append(nil), datatype.AppendFields(nil, words("field", "value"))),
	engine.GCRAKind:      datatype.GCRAOf(someTime/1000 + 6_000_001),
}

func firstOf(h datatype.Hash, _ int) []byte { return h }

func words(all ...string) (b [][]byte) {
	for _, w := range all {
		b = append(b, []byte(w))
	}
	return b
}

// setValues is a command that sets a key of each kind, whose names begin with a prefix.
type setValues struct{}

func (setValues) Run(tx *transaction.Tx, op *engine.Op, _ *engine.Result) {
	for _, kind := range engine.DataKinds() {
		tx.Set(fmt.Appendf(nil, "%s-%d", op.Args[1], kind), engine.Value{Kind: kind, ExpiresAt: someTime + 24*3600*second, Data: valueOf[kind]})
	}
}

func (setValues) Weigh(*engine.Op, transaction.Held) int { return store.OpWork }

func (setValues) ReadsAll(*engine.Op, int) bool { return false }

func (setValues) IsWorthAttempt(*engine.Op) bool { return true }

func setAllValues(prefix string) engine.Op {
	return engine.Op{Verb: engine.Command, Args: words("SETVALUES", prefix)}
}

// Every kind of value is in the golden files.
func TestEveryKindHasAValue(t *testing.T) {
	for _, kind := range engine.DataKinds() {
		if valueOf[kind] == nil {
			t.Errorf("no value of kind %d, a %s", kind, kind)
		}
	}
}

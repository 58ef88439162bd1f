package persistence

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/datatype"
	"github.com/stintdb/stint/engine/keyspace"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/engine/transaction"
)

// changeLists carries out commands of three words on lists, which are kept in blocks once they are large: the action,
// the key and an element.
type changeLists struct{ setValues }

func (changeLists) Run(tx *transaction.Tx, op *engine.Op, res *engine.Result) {
	action, key, element := string(op.Args[0]), op.Args[1], op.Args[2]
	l, _ := transaction.EditLarge(tx, key, engine.ListKind, 0)
	switch {
	case action == "SETVALUES":
		setValues{}.Run(tx, op, res)
	case action == "DROP":
		tx.Delete(key)
	case action == "WHOLE":
		tx.Set(key, engine.Value{Kind: engine.ListKind, Data: datatype.List(nil).PushTail([][]byte{element})})
	case action == "EXPIRE" && l != nil:
		transaction.Expire(tx, key, engine.ListKind, someTime+int64(len(element))*3600*24*365*10*second)
	case l == nil:
		v := tx.Edit(key, engine.ListKind)
		v.Data = datatype.List(v.Data).PushTail([][]byte{element, bytes.Repeat(element, 80)})
	case action == "POP" && l.Len() > 1:
		l.DeleteRange(0, 1+l.Len()/4)
	case action == "SET":
		l.SetAt(l.Len()/2, element)
	default:
		l.Insert(l.Len()/2, element)
	}
}

func randomListOp(r *rand.Rand) engine.Op {
	actions := []string{"PUSH", "PUSH", "PUSH", "PUSH", "PUSH", "PUSH", "PUSH", "PUSH", "POP", "SET", "SET", "EXPIRE"}
	action := actions[r.IntN(len(actions))]
	switch r.IntN(80) {
	case 0:
		action = "DROP"
	case 1:
		action = "WHOLE"
	}
	element := strings.Repeat(fmt.Sprint(r.IntN(9000)), 1+r.IntN(6))
	return engine.Op{Verb: engine.Command, Args: words(action, fmt.Sprint("list-", r.IntN(2)), element)}
}

// Backups hold large values, and a start reads them back. The flat values of a file that was written before large
// values were kept in blocks are moved to blocks when they change.
func TestLargeValuesAreReadBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 64))
	inBlocks := store.New(store.Config{Shards: 4, Commands: changeLists{}})
	flat := store.New(store.Config{Shards: 2, Commands: changeLists{}})
	store.KeepLarge(flat, false)
	defer inBlocks.Close()
	defer flat.Close()
	now := someTime
	grow := func(on *store.Store) {
		for i := range 60 {
			apply(on, now, engine.Op{Verb: engine.Command, Args: words("PUSH", "list", fmt.Sprint("element", i, " ", r.IntN(5)))})
		}
	}
	grow(inBlocks)
	for range 3 {
		grow(flat) // each change adds 560 bytes
	}
	for name, from := range map[string]*store.Store{"blocks": inBlocks, "flat": flat} {
		var file bytes.Buffer
		if _, _, err := WriteBackup(&file, from, func() int64 { return now }); err != nil {
			t.Fatal(err)
		}
		read := store.New(store.Config{Shards: 4, Commands: changeLists{}})
		if _, err := ReadBackup(name, bytes.NewReader(file.Bytes()), read, 0); err != nil || read.Digest(now) != from.Digest(now) {
			t.Fatalf("%s: %v, or another state", name, err)
		}
		grow(read)
		apply(read, now, engine.Op{Verb: engine.Command, Args: words("SET", "list", "now in blocks")})
		read.Scan(0, 10, now, func(e keyspace.Entry) {
			if whole := e.Whole(); len(e.State) > 100 || len(whole.State) < 4<<10 {
				t.Errorf("%s: after a change the state has %d bytes for %d", name, len(e.State), len(whole.State))
			}
		})
		if err := read.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		read.Close()
	}
}

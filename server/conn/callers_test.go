package conn

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/clock"
	"github.com/stintdb/stint/server/clock/clocktest"
	"github.com/stintdb/stint/server/conn/share"
	"github.com/stintdb/stint/server/decider"
)

// A session that is used again has nothing of the caller before: no field is left but those that no client's commands
// change.
func TestResetLeavesNothing(t *testing.T) {
	kept := map[string]bool{"env": true, "registry": true, "wake": true, "onDecided": true, "args": true, "by": true, "owner": true}
	s := &Session{}
	fields := 0
	visit(reflect.ValueOf(s).Elem(), func(name string, v reflect.Value) {
		fields++
		if fill(v); v.IsZero() {
			t.Errorf("the test does not know how to fill %s, a %v", name, v.Type())
		}
	})
	s.reset()
	visit(reflect.ValueOf(s).Elem(), func(name string, v reflect.Value) {
		if kept[name] == v.IsZero() {
			t.Errorf("%s is %v after reset", name, v)
		}
		if name != "args" {
			return
		}
		for i, arg := range v.Slice(0, v.Cap()).Seq2() {
			if !arg.IsNil() {
				t.Errorf("argument %v of the command before is left", i)
			}
		}
	})
	if fields < 40 {
		t.Fatalf("only %d fields were visited", fields)
	}
}

// visit calls f for every field that is no struct, also for those within structs.
func visit(of reflect.Value, f func(name string, v reflect.Value)) {
	for i := range of.NumField() {
		field, v := of.Type().Field(i), of.Field(i)
		if v = reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem(); field.Name == "_" {
			continue
		}
		if v.Kind() == reflect.Struct {
			visit(v, f)
		} else if v.Type().Size() > 0 {
			f(field.Name, v)
		}
	}
}

// fill gives a field another value than zero.
func fill(v reflect.Value) {
	switch {
	case v.CanInt():
		v.SetInt(1)
	case v.CanUint():
		v.SetUint(1)
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.Type() == reflect.TypeFor[error]():
		v.Set(reflect.ValueOf(context.Canceled))
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 2))
		if element := v.Index(0); element.Kind() == reflect.Slice {
			element.Set(reflect.MakeSlice(element.Type(), 1, 1))
		}
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case v.Kind() == reflect.UnsafePointer: // of an atomic.Pointer
		v.SetPointer(unsafe.Pointer(new(int64)))
	case v.Kind() == reflect.Func:
		v.Set(reflect.MakeFunc(v.Type(), func([]reflect.Value) []reflect.Value { return nil }))
	case v.Type() == reflect.TypeFor[ReplyConn]():
		v.Set(reflect.ValueOf(noReplies{}))
	}
}

type noReplies struct{}

func (noReplies) Write([]byte) (int, error)      { return 0, nil }
func (noReplies) WriteFinal([]byte) (int, error) { return 0, nil }
func (noReplies) Unsent() int                    { return 0 }

// later is a decider that finishes every batch on another goroutine.
type later struct{ *decider.Local }

func (l later) Decide(b *engine.Batch) bool {
	go func() {
		l.Local.Decide(b)
		b.Done()
	}()
	return false
}

// Sessions that others may still know are not used again: of commands that are given the session, and of those that
// waited.
func TestSharedSessionsAreNotUsedAgain(t *testing.T) {
	h := newEnv(t, store.New(store.Config{Shards: 16}), clocktest.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)).Clock)
	caller := Caller{User: h.Users.Default(), Address: "127.0.0.1:1", Timeout: time.Minute}
	do := func(commands ...string) string {
		t.Helper()
		replies, _ := h.Do(context.Background(), caller, frames(commands...))
		return string(replies)
	}
	isKept := func() bool { return h.callers.Get() != nil }
	for _, commands := range [][]string{{"MULTI"}, {"CLIENT SETNAME me"}, {"CL.THROTTLE k 15 30 60", "CLIENT REPLY OFF"}, {"AUTH no one"}, {"NONSENSE", "PING"}} {
		if do(commands...); isKept() {
			t.Errorf("the session of %v is used again", commands)
		}
	}
	if replies, err := h.Do(context.Background(), caller, []byte("*2\r\n$4\r\nPING")); err == nil || isKept() {
		t.Errorf("the session of a command that was not whole is used again; it was answered %q", replies)
	}
	h.Decider = later{h.Decider.(*decider.Local)}
	if reply := do("CL.THROTTLE k 15 30 60"); !strings.HasPrefix(reply, "*5") || isKept() {
		t.Errorf("a session that waited for a decision is used again; it was answered %q", reply)
	}
}

// A session used again is that of its new caller: of the one before, neither the rights nor bounds are left.
func TestCallersTakeTurns(t *testing.T) {
	h := newEnv(t, store.New(store.Config{Shards: 16}), clocktest.New(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)).Clock)
	for name, keys := range map[string]string{"reader": "~a*", "other": "~b*"} {
		if err := h.Users.Set(name, []string{"on", "nopass", keys, "+cl.throttle"}); err != nil {
			t.Fatal(err)
		}
	}
	var before *callerSession
	again := 0
	for i := range 200 {
		name, mine, theirs := "reader", "a", "b"
		if i%2 == 1 {
			name, mine, theirs = "other", "b", "a"
		}
		user, right := h.Users.Authenticate(name, nil)
		if !right {
			t.Fatal(name)
		}
		caller := Caller{User: user, Address: name, Timeout: time.Minute}
		s := h.getCaller(caller)
		if s == before {
			again++
		}
		of := &s.session
		if before = s; of.user != user || of.client.User != name || of.public.Addr() != name || of.public.Line() == "" {
			t.Fatalf("a session of %s is of %q at %q", name, of.client.User, of.public.Addr())
		}
		h.putCaller(s, false)
		for key, want := range map[string]string{mine: "*5", theirs: "-NOPERM"} {
			replies, err := h.Do(context.Background(), caller, frames("CL.THROTTLE "+key+" 15 30 60"))
			if err != nil || !strings.HasPrefix(string(replies), want) {
				t.Fatalf("%s on %s: %q, %v", name, key, replies, err)
			}
		}
	}
	if again == 0 {
		t.Error("no session was used again")
	}
	if replies, err := h.Do(context.Background(), Caller{Address: "nobody"}, frames("CL.THROTTLE a 15 30 60")); err != nil || !strings.HasPrefix(string(replies), "-NOAUTH") {
		t.Errorf("a caller without a user after others: %q, %v", replies, err)
	}
}

// noting is a decider that notes the keys in their order.
type noting []string

func (n *noting) Decide(b *engine.Batch) bool {
	*n = append(*n, string(b.Ops[0].Key))
	return true
}

// Sessions without an event loop take turns by their owners, and hold up no session of a loop.
func TestTurnsOfCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newEnv(t, store.New(store.Config{Shards: 16}), clock.New(0))
		taken := 0
		for h.turns.TryBegin() {
			taken++
		}
		var order noting
		h.Decider = &order
		for _, name := range []string{"many", "many", "many", "one"} {
			if err := h.Users.Set(name, []string{"on", "nopass", "~*", "+@all"}); err != nil {
				t.Fatal(err)
			}
			go func() {
				user, _ := h.Users.Authenticate(name, nil)
				caller := Caller{User: user, Address: "127.0.0.1:1"}
				if _, err := h.Do(t.Context(), caller, frames("CL.THROTTLE "+name+" 15 30 60")); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}()
			synctest.Wait()
		}
		var p share.Passes
		s, link := newPassSession(t, h, &p)
		if s.ServeInput(frames("PING")); link.lines != 1 {
			t.Errorf("a session of a loop got %d replies", link.lines)
		}
		if len(order) > 0 {
			t.Errorf("%v began although all turns were taken", order)
		}
		h.turns.End()
		synctest.Wait()
		if got := strings.Join(order, " "); got != "many one many many" {
			t.Errorf("callers had their turns as %q", got)
		}
		for range taken - 1 {
			h.turns.End()
		}
	})
}

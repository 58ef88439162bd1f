package data_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
	"github.com/stintdb/stint/server/command/data"
)

// dataStore executes data commands.
type dataStore struct {
	*store.Store
	t testing.TB
}

func newDataStore(t testing.TB) *dataStore {
	s := &dataStore{store.New(store.Config{Commands: &data.Executor{}}), t}
	t.Cleanup(s.Close)
	return s
}

// do executes a command, to which it appends more words, and returns the reply.
func (s *dataStore) do(line string, more ...string) string {
	s.t.Helper()
	res := s.run(line, more...)
	return string(res.Reply)
}

func (s *dataStore) run(line string, more ...string) engine.Result {
	s.t.Helper()
	r := command.Request{Args: bytes.Fields([]byte(line))}
	for _, word := range more {
		r.Args = append(r.Args, []byte(word))
	}
	r.SetBounds(command.Bounds{MaxKeyBytes: 4096, MaxLogLimit: 100})
	row, err := command.Find(r.Args)
	if err == nil {
		err = row.Parse(&r)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	results := make([]engine.Result, len(r.Ops))
	s.Apply(1, r.Ops, results)
	return results[0]
}

func (s *dataStore) want(reply, line string, more ...string) {
	s.t.Helper()
	if got := s.do(line, more...); got != reply {
		s.t.Errorf("%s: %.200q, want %.200q", line, got, reply)
	}
}

func (s *dataStore) wantError(err error, line string, more ...string) {
	s.t.Helper()
	s.want("-"+err.Error()+"\r\n", line, more...)
}

// A command that would make a value too large is refused and changes nothing. Replacing as many bytes as are added is
// fine.
func TestCollectionsAreBounded(t *testing.T) {
	const head = 4 + 4 // bytes of overhead of a sequence of one string
	large := strings.Repeat("x", engine.MaxValueBytes-100)
	s := &dataStore{store.New(store.Config{Replicated: true, Commands: &data.Executor{}}), t} // which has no blocks
	t.Cleanup(s.Close)
	small := strings.Repeat("y", 100)
	for _, c := range []struct{ add, length string }{
		{"HSET h x", "HSTRLEN h x"}, {"LPUSH head", "LLEN head"}, {"RPUSH tail", "LLEN tail"}, {"SADD s", "SCARD s"},
	} {
		s.want(":1\r\n", c.add, large)
		before := s.do(c.length)
		reply := s.do(strings.Replace(c.add, "x", "y", 1), small)
		if want := "-ERR value: at most 1048576 bytes in one key, got "; !strings.HasPrefix(reply, want) {
			t.Errorf("%s: %.100q", c.add, reply)
		}
		s.want(before, c.length)
	}
	exact := strings.Repeat("x", engine.MaxValueBytes-head)
	s.want(":1\r\n", "SADD k", exact)
	s.want(":0\r\n", "SADD k", exact)
	s.wantError(data.ErrValueTooBig.With(engine.MaxValueBytes, engine.MaxValueBytes+1), "SADD other", exact+"x")
	s.want(":-2\r\n", "EXPIRETIME other")

	s.want(":1\r\n", "HSET full f", large)
	s.want(":0\r\n", "HSET full f", large[1:]+"y")
	s.want("+OK\r\n", "HMSET full f", large[1:], "f", "1")
	s.want(":42\r\n", "HINCRBY full f 41")
}

// One command cannot make the server repeat a large value without limit, or combine many large sets.
func TestRepeatedValuesAreBounded(t *testing.T) {
	s := newDataStore(t)
	large := strings.Repeat("x", engine.MaxValueBytes/2)
	s.want(":1\r\n", "HSET h f", large)
	if reply := s.do("HMGET h f f f"); !strings.HasPrefix(reply, "*3\r\n$524288\r\n") {
		t.Errorf("%.100q", reply)
	}
	s.wantError(data.ErrReplyTooBig.With(2*engine.MaxValueBytes), "HMGET h", strings.Split(strings.Repeat("f", 1000), "")...)
	s.want("+OK\r\n", "SET s", large)
	s.wantError(data.ErrReplyTooBig.With(2*engine.MaxValueBytes), "MGET", strings.Split(strings.Repeat("s", 1000), "")...)

	s.want(":1\r\n", "SADD a", large)
	s.want(":1\r\n", "SUNIONSTORE to a")
	s.wantError(data.ErrSetsTooBig.With(engine.MaxValueBytes), "SUNIONSTORE to a a")
	s.want(":1\r\n", "SCARD to")
	s.want(":0\r\n", "SDIFFSTORE to a a") // only the first set is looked at as a whole
}

// Commands can have thousands of fields and elements, as limits and Traefik send them.
func TestManyAtOnce(t *testing.T) {
	s := newDataStore(t)
	var pairs, numbers []string
	for i := range 5000 {
		pairs = append(pairs, fmt.Sprintf("field%d", i), fmt.Sprint(i))
		numbers = append(numbers, fmt.Sprint(i))
	}
	s.want(":5000\r\n", "HSET h", pairs...)
	s.want("$4\r\n4999\r\n", "HGET h field4999")
	s.want(":5000\r\n", "LPUSH l", numbers...)
	s.want("$1\r\n0\r\n", "LINDEX l 4999")
	s.want("+OK\r\n", "LTRIM l 0 9")
	s.want("$4\r\n4990\r\n", "LINDEX l -1")
	s.want(":5000\r\n", "SADD s", numbers...)
	s.want(":4990\r\n", "SREM s", numbers[10:]...)
	s.want("*10\r\n$1\r\n0\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n$1\r\n4\r\n$1\r\n5\r\n$1\r\n6\r\n$1\r\n7\r\n$1\r\n8\r\n$1\r\n9\r\n", "SMEMBERS s")
	var fields []string
	for i := 0; i < len(pairs); i += 2 {
		fields = append(fields, pairs[i])
	}
	s.want(":5000\r\n", "HDEL h", fields...)
	s.want(":-2\r\n", "EXPIRETIME h")
}

package data_test

import (
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/store"
)

// A replica that answers nobody makes no reply of a script. All else is as on the node that answers.
func TestUnreadScriptsDoTheSame(t *testing.T) {
	for _, body := range []string{
		"return redis.call('INCR', KEYS[1])",
		"redis.call('INCR', KEYS[1]) redis.call('LPUSH', KEYS[1], 1)",
		"redis.call('INCR', KEYS[1]) while true do end",
		"redis.call('INCR', KEYS[1]) return string.rep('x', 1000000)",
		"redis.call('SET', KEYS[1], 1) local t = {} t[1] = t return t",
	} {
		answering, silent := newNumberStore(t), newNumberStore(t)
		apply := func(to *store.Store, options engine.Option) engine.Result {
			ops, results := opsOf(t, []string{"EVAL", body, "1", "k"}), make([]engine.Result, 1)
			ops[0].Options |= options
			to.Apply(1, ops, results)
			return results[0]
		}
		answer, silence := apply(answering, 0), apply(silent, engine.Unread)
		if len(answer.Reply) == 0 || len(silence.Reply) != 0 {
			t.Errorf("%q: replies %.50q and %.50q, want one and none", body, answer.Reply, silence.Reply)
		}
		if answer.Work != silence.Work || answering.Digest(1) != silent.Digest(1) {
			t.Errorf("%q: work %d and %d, keys %q and %q", body, answer.Work, silence.Work, dumpOf(answering, 1), dumpOf(silent, 1))
		}
		if answering.Len() != 1 || !strings.Contains(dumpOf(silent, 1), "k") {
			t.Errorf("%q changed nothing", body)
		}
	}
}

package slowlog

import (
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/resp"
)

func newLog(micros, length int) *Log {
	var settings atomic.Pointer[config.Config]
	cfg := config.Default()
	cfg.SlowlogMicros, cfg.SlowlogLength = micros, length
	settings.Store(&cfg)
	return New(&settings)
}

// The latest entries stay, the latest first, and ids go on.
func TestBounded(t *testing.T) {
	l := newLog(10, 3)
	for range 5 {
		l.Note(command.SlowCommand{Micros: 10})
	}
	if all := l.SlowCommands(-1); len(all) != 3 || all[0].ID != 4 || all[2].ID != 2 || l.SlowCount() != 3 || l.Count() != 5 {
		t.Errorf("%v, %d entries of %d", all, l.SlowCount(), l.Count())
	}
	if one := l.SlowCommands(1); len(one) != 1 || one[0].ID != 4 {
		t.Errorf("%v", one)
	}
	if l.ResetSlowlog(); l.SlowCount() != 0 || l.Count() != 5 {
		t.Errorf("%d entries after ResetSlowlog, %d in all", l.SlowCount(), l.Count())
	}
	if l.IsSlow(9_999) || !l.IsSlow(10_000) || newLog(-1, 3).IsSlow(1<<40) {
		t.Error("the threshold is not kept")
	}
}

// An entry has at most 32 words of 128 bytes, and no secrets.
func TestArgs(t *testing.T) {
	words := func(line string) (args [][]byte) {
		for word := range strings.FieldsSeq(line) {
			args = append(args, []byte(word))
		}
		return args
	}
	if many := Args(words("DEL " + strings.Repeat("k ", 100))); len(many) != maxArgs || many[maxArgs-1] != "... (70 more arguments)" {
		t.Errorf("%d words: %q", len(many), many)
	}
	if long := Args(words("ECHO " + strings.Repeat("x", 1000))); long[1] != strings.Repeat("x", maxArgBytes)+"... (872 more bytes)" {
		t.Errorf("%q", long)
	}
	for _, line := range []string{"AUTH tea", "ATUH tea", "HELLO 3 AUTH default tea", "CONFIG SET requirepass tea"} {
		if kept := strings.Join(Args(words(line)), " "); strings.Contains(kept, "tea") || !strings.Contains(kept, "(redacted)") {
			t.Errorf("%s: %s", line, kept)
		}
	}
	if cut := TurnArgs([]byte("*2\r\n$4\r\nECHO\r\n$60000\r\nxx"), resp.Limits{MaxArgs: 10, MaxBulk: 100_000, MaxInline: 100_000}, 3); len(cut) != 2 || !strings.HasPrefix(cut[0], "(a command of more than") || cut[1] != "... (2 more commands in the pipeline)" {
		t.Errorf("%q", cut)
	}
}

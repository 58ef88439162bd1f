package limiter

import (
	"bytes"
	"testing"

	"github.com/stintdb/stint/server/command"
)

// Wrong numbers, wrong algorithms and words after the fields are errors, and Err returns the first.
func TestWords(t *testing.T) {
	w := command.NewWords("RL.CHECK", "PEEK", "WITH")
	w.Number("tokens", "20")
	w.Amount("KEEP", "12.5%")
	w.Value("AS", "PEEK")
	w.With("tenant", "PEEK")
	w.With("PEEK", "")
	if got := bytes.Join(w.List(), []byte(" ")); w.Err() != nil || string(got) != "RL.CHECK PEEK WITH 20 KEEP 12.5% AS PEEK WITH tenant PEEK PEEK " {
		t.Errorf("%q, %v", got, w.Err())
	}
	for want, make := range map[string]func(w *command.Words){
		`tokens: must be an integer, in digits, got "PEEK"`:                                       func(w *command.Words) { w.Number("tokens", "PEEK"); w.Number("other", "x") },
		`tokens: must be an integer, in digits, got ""`:                                           func(w *command.Words) { w.Number("tokens", "") },
		`keep: must be a number, or a percentage such as 10%, got "+1"`:                           func(w *command.Words) { w.Amount("KEEP", "+1") },
		`algorithm: must be one of ` + specWords() + `, got "PEEK"`:                               func(w *command.Words) { AppendLimit(w, "PEEK", "k") },
		`capacity: must be an integer, in digits, got "PEEK"`:                                     func(w *command.Words) { AppendLimit(w, "TB", "k", "PEEK", "1/s") },
		"command: TB has 3 arguments, got 2":                                                      func(w *command.Words) { AppendLimit(w, "TB", "k", "1") },
		`command: "PEEK" after the fields of WITH would be read as a field; write it before WITH`: func(w *command.Words) { w.With("a", "b"); w.Option("PEEK") },
	} {
		w := command.NewWords("RL.ALL")
		if make(&w); w.Err() == nil || w.Err().Error() != want {
			t.Errorf("%v, want %s", w.Err(), want)
		}
	}
}

package replay

import (
	"fmt"
	"strings"

	"github.com/stintdb/stint/engine/limits"
	"github.com/stintdb/stint/server/command"
	_ "github.com/stintdb/stint/server/command/all" // the table
	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/trial"
)

// Limits are one candidate: a limit or several, as RL.POLICY SET takes them.
type Limits struct {
	Text  string
	first limits.Limit
	trial.Limits
}

const limitsExample = "write limits as in RL.POLICY SET, such as 'TB {} 100 10/s'"

// ParseLimits reads limits as they follow the name in RL.POLICY SET, such as TB {} 100 10/s. {} in a key stands for the
// key of the replay, and {name} for the field of that name.
func ParseLimits(text string) (*Limits, error) {
	words := [][]byte{[]byte("RL.POLICY"), []byte("SET"), []byte("replayed")}
	for word := range strings.FieldsSeq(text) {
		words = append(words, []byte(word))
	}
	row, err := command.Find(words)
	if err != nil {
		return nil, fmt.Errorf("no limit in '%s'; %s", text, limitsExample)
	}
	r := command.Request{Args: words, Bounds: command.Bounds{MaxKeyBytes: maxKey, MaxLogLimit: config.Default().MaxSlidingLog}}
	if err := row.Parse(&r); err != nil {
		return nil, fmt.Errorf("'%s': %s; %s", text, strings.TrimPrefix(err.Error(), "ERR "), limitsExample)
	}
	l := &Limits{Text: strings.Join(strings.Fields(text), " ")}
	parts := r.Ops[0].Parts
	for _, op := range parts {
		if op.Limit.Algorithm == limits.Concurrency {
			return nil, fmt.Errorf("'%s': a log does not show when a request ended, which CC needs", text)
		}
	}
	l.first = parts[0].Limit
	if l.Limits, err = trial.NewLimits(parts); err != nil {
		return nil, err
	}
	return l, nil
}

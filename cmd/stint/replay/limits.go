package replay

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/server/command"
	"github.com/stintdb/stint/server/config"
)

// Limits are one candidate: a limit or several, as RL.POLICY SET takes them.
type Limits struct {
	Text  string
	parts []part
}

// part is one of the limits.
type part struct {
	op        engine.Op // without its key
	key, who  engine.Template
	specified string // as RL.POLICY GET shows it
}

// ParseLimits reads limits as they follow the name in RL.POLICY SET, such as TB {} 100 10/s. {} in a key stands for the key of the
// replay, and {name} for the field of that name.
func ParseLimits(text string) (*Limits, error) {
	words := [][]byte{[]byte("RL.POLICY"), []byte("SET"), []byte("replayed")}
	for word := range strings.FieldsSeq(text) {
		words = append(words, []byte(word))
	}
	row, err := command.Find(words)
	if err != nil {
		return nil, fmt.Errorf("no limit in '%s': write it as in RL.POLICY SET, such as 'TB {} 100 10/s'", text)
	}
	r := command.Request{Args: words, Bounds: command.Bounds{MaxKeyBytes: maxKey, MaxLogLimit: config.Default().MaxSlidingLog}}
	if err := row.Parse(&r); err != nil {
		return nil, fmt.Errorf("'%s': %s", text, strings.TrimPrefix(err.Error(), "ERR "))
	}
	l := &Limits{Text: strings.Join(strings.Fields(text), " ")}
	for _, op := range r.Ops[0].Parts {
		if op.Limit.Algorithm == engine.Concurrency {
			return nil, fmt.Errorf("'%s': a log does not show when a request ended, which CC needs", text)
		}
		p := part{op: op, specified: command.SpecText(op)}
		if p.key, err = engine.ParseTemplate(op.Key); err == nil {
			p.who, err = engine.ParseTemplate(op.Who)
		}
		if err != nil {
			return nil, err
		}
		p.op.Key, p.op.Who = nil, nil
		l.parts = append(l.parts, p)
	}
	return l, nil
}

var errNames = errors.New("a limit asks for more fields than a policy may")

// names lists the fields that the keys ask for.
func (l *Limits) names() (names []string, err error) {
	var fields [][]byte
	for _, p := range l.parts {
		for {
			_, missing := p.key.AppendTo(nil, nil, fields)
			if missing == "" {
				_, missing = p.who.AppendTo(nil, nil, fields)
			}
			if missing == "" {
				break
			}
			if len(names) > engine.MaxFields || slices.Contains(names, missing) {
				return nil, errNames
			}
			names = append(names, missing)
			fields = append(fields, []byte(missing), nil)
		}
	}
	return names, nil
}

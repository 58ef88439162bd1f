package stinttest

import (
	"errors"
	"fmt"
	"math/big"
)

// credits is the state of a balance.
type credits struct{ added, spent int64 }

// payment is what was added under an id.
type payment struct {
	key     string
	credits int64
}

func decideCredits(state any, a ask) decision {
	c, _ := state.(credits)
	left := c.added - c.spent
	n := a.number(left)
	d := decision{limit: c.added, remaining: left, wait: never, reset: new(big.Rat), state: state}
	if n <= left || a.option == "FORCE" {
		d.granted, d.remaining, d.wait, d.state = n, left-n, new(big.Rat), credits{c.added, c.spent + n}
	}
	return d
}

// addCredits is BAL.ADD, which adds the credits of a payment once.
func (f *Fake) addCredits(words []string) (string, error) {
	if len(words) != 4 {
		return "", lacks("EXPIRE in BAL.ADD")
	}
	n, err := number(words[1])
	if err != nil {
		return "", err
	}
	state, err := f.state(words[0], limit{spec: "BAL"})
	if err != nil {
		return "", err
	}
	c, _ := state.(credits)
	p := payment{words[0], n}
	switch earlier, isKnown := f.payments[words[3]]; {
	case !isKnown:
		c.added += n
		f.payments[words[3]] = p
		f.keys[words[0]] = entry{limit{spec: "BAL"}, c}
	case earlier != p:
		return "", errors.New("ERR AS: the id was used for a request with other parameters; nothing was taken")
	}
	return array(n, c.added-c.spent), nil
}

// credits is BAL.INFO.
func (f *Fake) credits(key string) (string, error) {
	state, err := f.state(key, limit{spec: "BAL"})
	if state == nil || err != nil {
		return "$-1", err
	}
	c := state.(credits)
	left, grants := c.added-c.spent, "*0"
	if left > 0 {
		grants = fmt.Sprintf("*1\r\n*2\r\n:%d\r\n$-1", left)
	}
	return fmt.Sprintf("*4\r\n$7\r\nbalance\r\n:%d\r\n$6\r\ngrants\r\n%s", left, grants), nil
}

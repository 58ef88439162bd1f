package main

import "fmt"

// An answer describes the good replies of a command, so that a server that is fast but answers wrongly does not count.
type answer int

const (
	answerAny      answer = iota // any reply except an error
	answerPong                   // PONG
	answerOK                     // OK
	answerCount                  // an integer above 0
	answerThrottle               // five integers, the first 0 when granted, 1 when limited
	answerAcquire                // five integers, the first the tokens granted
	answerCheck                  // two integers and three for each limit, the first 1 when granted
	answerScript                 // integers, the first 1 when granted
)

// check returns an error unless r is a good reply that grants, or denies, as
// granted says.
func (a answer) check(r reply, granted bool) error {
	switch a {
	case answerPong:
		if r.text != "PONG" {
			return fmt.Errorf("answered %q, want PONG", r.text)
		}
	case answerOK:
		if r.text != "OK" {
			return fmt.Errorf("answered %q, want OK", r.text)
		}
	case answerCount:
		if len(r.integers) != 1 || r.integers[0] < 1 {
			return fmt.Errorf("answered %v, want an integer above 0", r.integers)
		}
	case answerThrottle, answerAcquire, answerCheck, answerScript:
		n := len(r.integers)
		if n == 0 || a != answerScript && n < 5 || (a == answerThrottle || a == answerAcquire) && n > 5 {
			return fmt.Errorf("answered %d integers, want 5", n)
		}
		first := r.integers[0]
		if first != 0 && first != 1 {
			return fmt.Errorf("answered %v: the first integer should be 0 or 1", r.integers)
		}
		grants := (first == 1) == (a != answerThrottle)
		if grants != granted {
			return fmt.Errorf("answered %v: granted is %t, want %t", r.integers, grants, granted)
		}
	}
	return nil
}

package testspec

import "slices"

// exchange carries the prepared operation out at once.
func (m chain) exchange(s chainState, i int, next *Steps[chainState]) {
	for most := range m.available(&s, i) + 1 {
		to := s
		l := &to.links[i]
		answer, _ := m.carry(&to, i, l.purse.Ask(m.Time > 0), most)
		l.hear(answer, m.bug)
		next.Step(to, "%s asks %s, and has %d", chainNames[i+1], chainNames[i], l.purse.Tokens)
		if s.links[i].purse.Returning {
			break
		}
	}
}

// send adds a message to those that the network keeps, and reports whether there was room for it.
func (l *link) send(kept int, a Ask[int8]) bool {
	if slices.Contains(l.asks[:kept], a) {
		return false
	}
	free := slices.Index(l.asks[:kept], Ask[int8]{})
	if free >= 0 {
		l.asks[free] = a
	}
	return free >= 0
}

// deliver lets the lender of a link take an operation, which then is gone, or comes again later.
func (m chain) deliver(s chainState, i, at int, next *Steps[chainState]) {
	a := s.links[i].asks[at]
	if a.Verb == None {
		return
	}
	lost := s
	lost.links[i].asks[at] = Ask[int8]{}
	next.Step(lost, "operation %d of %s is lost", a.Number, chainNames[i+1])
	if i > 0 && s.links[i-1].killed {
		return
	}
	free := slices.Index(s.links[i].answers[:m.Kept], timedAnswer{})
	if free < 0 {
		return
	}
	for most := range m.available(&s, i) + 1 {
		to := s
		answer, carried := m.carry(&to, i, a, most)
		to.links[i].answers[free] = answer
		next.Fault(to, "%s hears operation %d of %s, which stays on its way, too: %s", chainNames[i], a.Number, chainNames[i+1], told(carried, answer))
		to.links[i].asks[at] = Ask[int8]{}
		next.Step(to, "%s hears operation %d of %s: %s", chainNames[i], a.Number, chainNames[i+1], told(carried, answer))
		if a.Verb == Return {
			break // nothing is lent
		}
	}
}

// told says what an answer says.
func told(carried bool, a timedAnswer) any {
	switch {
	case !carried:
		return "it changes nothing"
	case a.Lent == 0:
		return "nothing is lent"
	case a.Lent == 1:
		return "1 token"
	}
	return "several tokens"
}

// hear lets the holder of a link take an answer.
func (m chain) hear(s chainState, i, at int, next *Steps[chainState]) {
	l, a := &s.links[i], s.links[i].answers[at]
	if a == (timedAnswer{}) {
		return
	}
	name := chainNames[i+1]
	gone := s
	gone.links[i].answers[at] = timedAnswer{}
	next.Step(gone, "the answer to operation %d of %s is lost", a.To, name)
	if l.killed {
		return
	}
	to := gone
	p := &to.links[i]
	switch {
	case !l.purse.Expects(a.Answer) && !(m.bug == AnswersAreTakenTwice && l.purse.Number == a.To):
		late := Ask[int8]{Verb: Return, Number: l.next, Previous: a.To, Left: a.Lent}
		if a.Lent > 0 && l.purse.Previous == 0 && m.mayBegin(l) && p.send(m.Kept, late) {
			p.next++
			next.Step(to, "%s hears a late answer to operation %d, and returns %d", name, a.To, a.Lent)
			return
		}
		next.Step(to, "%s ignores a late answer to operation %d", name, a.To)
		return
	case l.purse.IsOpen(a.Answer):
		if l.purse.Tokens+m.lentOn(&s, i) == l.purse.Left {
			next.Step(to, "%s keeps operation %d prepared, as it brought nothing", name, a.To)
		}
		if l.purse.Previous != 0 && m.bug != OpenOperationsEnd {
			if p.send(m.Kept, l.purse.Close()) {
				next.Step(to, "%s ends operation %d at %s, as it brought nothing", name, a.To, chainNames[i])
			}
			return
		}
	}
	p.hear(a, m.bug)
	next.Step(to, "%s takes the answer to operation %d in, and has %d", name, a.To, p.purse.Tokens)
	kept := to
	kept.links[i].answers[at] = a
	next.Fault(kept, "%s takes the answer to operation %d in, which stays on its way, too, and has %d", name, a.To, p.purse.Tokens)
}

// hear takes an answer in.
func (l *link) hear(a timedAnswer, bug Bug) {
	l.purse.Hear(a.Answer)
	if l.age, l.time, l.opAge = l.opAge, a.time, 0; bug == AgeCountsFromAnswer {
		l.age = 0
	}
	if l.purse.Previous == 0 || l.time == 0 {
		l.age, l.time = 0, 0
	}
}

// same returns the state that stands for all that differ from it in nothing that matters: in the places of messages and,
// without a bound on operations, in their numbers, which are only compared.
func (m chain) same(s chainState) chainState {
	for i := range m.Levels {
		l := &s.links[i]
		if !l.purse.Prepared && m.bug != AnswersAreTakenTwice {
			l.purse.Number = 0
		}
		if m.Numbers == 0 {
			l.next = renumber(
				&l.record.Number, &l.purse.Previous, &l.purse.Number, &l.asks[0].Number, &l.asks[0].Previous, &l.asks[1].Number,
				&l.asks[1].Previous, &l.answers[0].To, &l.answers[0].Named, &l.answers[1].To, &l.answers[1].Named)
		}
		if l.asks[1].Number > 0 && (l.asks[0].Number == 0 || l.asks[1].Number < l.asks[0].Number) {
			l.asks[0], l.asks[1] = l.asks[1], l.asks[0]
		}
		if l.answers[1].To > 0 && (l.answers[0].To == 0 || l.answers[1].To < l.answers[0].To) {
			l.answers[0], l.answers[1] = l.answers[1], l.answers[0]
		}
	}
	return s
}

// renumber gives the operations that are known somewhere the numbers from 1 on, and returns the next number.
func renumber(numbers ...*int8) (next int8) {
	var known [16]int8
	next = 1
	for _, number := range numbers {
		if *number == 0 {
			continue
		}
		if known[*number] == 0 {
			known[*number] = next
			next++
		}
		*number = known[*number]
	}
	return next
}

package testmodel

import (
	"slices"
	"strconv"
	"strings"
)

// past is a closed window with usage.
type past struct{ start, end, used, reserved int64 }

// record is the part of a fixed window beside its count, of a limit with a history: the closed windows, the newest
// first, and the tokens of the open one that were granted to ids that are not settled.
type record struct {
	closed   []past
	reserved int64
	left     int64 // what the newest closed window did not use, of which a part may roll over
}

// close adds a window to the closed ones, of which n are kept. One that used nothing in the end is only there for what
// it leaves to the next.
func (r record) close(start, end, used, left int64, n int) record {
	if used > 0 {
		r.left, r.closed = left, append([]past{{start, end, used, min(r.reserved, used)}}, r.withoutUnused().closed...)
	}
	r.reserved = 0
	return r.first(n)
}

// withoutUnused leaves out the newest closed window if it used nothing.
func (r record) withoutUnused() record {
	if len(r.closed) > 0 && r.closed[0].used == 0 {
		r.closed = r.closed[1:]
	}
	return r
}

// under is the record of a limit. Without ROLLOVER nothing is left.
func (r record) under(l limit) record {
	if l.rollover == 0 {
		r = r.withoutUnused()
		r.left = 0
	}
	return r.first(l.history)
}

// first is the record of a limit that keeps n closed windows; none of it counts without them.
func (r record) first(n int) record {
	if n == 0 {
		return record{}
	}
	r.closed = slices.Clone(r.closed[:min(n, len(r.closed))])
	return r
}

// rolled is the tokens beside a limit in the window of a start: what the window before has left, or all that may roll
// over if that window had no usage.
func (f *fixed) rolled(l limit, start int64) int64 {
	if l.rollover == 0 || f.isLent || len(f.closed) == 0 {
		return 0
	}
	most, last := l.most*l.rollover/100, f.closed[0].end
	if before, _ := l.windowAt(start - 1); last > before || last >= start {
		return min(max(0, f.left), most)
	}
	if start-last > l.remembered()-l.longest() {
		return 0
	}
	return most
}

// rolloverWait is the time until a denied request fits the next window or the one after it.
func (r *request) rolloverWait(now int64, f *fixed) int64 {
	next := f.over()
	for start, windows := f.end, 0; windows < 2; windows++ {
		if r.least() <= r.open()+next.rolled(r.limit, start) {
			return start - now
		}
		_, start = r.limit.windowAt(start)
	}
	return never
}

// remembered is how long closed windows are kept after the end of the last: as many windows as are kept, each as long
// as one can be.
func (l limit) remembered() int64 {
	longest := l.longest()
	if longest > 100*year/int64(max(1, l.history)) {
		return 100 * year
	}
	return longest * int64(l.history)
}

// longest is the most time that a window takes.
func (l limit) longest() int64 {
	if l.length > 0 {
		return l.length
	}
	const longestDay = 25 * hour
	return map[string]int64{"@minute": minute, "@hour": hour, "@day": longestDay, "@week": 7 * longestDay, "@month": 31 * longestDay, "@quarter": 92 * longestDay, "@year": 366 * longestDay}[l.window]
}

// at is the window at a time, nil if nothing is left of it: it is closed if it is over.
func (f *fixed) at(now int64) *fixed {
	if f.isOpen(now) {
		return f
	}
	if f.limit.history == 0 {
		return nil
	}
	if now >= f.forgotten() {
		return nil
	}
	return f.over()
}

// over is the window after its end.
func (f *fixed) over() *fixed {
	left := int64(0)
	if f.limit.rollover > 0 {
		left = f.limit.most + f.rolled(f.limit, f.start) - f.count
	}
	return &fixed{limit: f.limit, isLent: f.isLent, record: f.record.close(f.start, f.end, f.count, left, f.limit.history)}
}

// forgotten is the time from which no closed window counts.
func (f *fixed) forgotten() int64 {
	last := f.end
	if f.count == 0 {
		if last = 0; len(f.closed) > 0 {
			last = f.closed[0].end
		}
	}
	return last + f.limit.remembered()
}

// settle gives tokens back to the window of a start, of which some were reserved until now.
func (f *fixed) settle(start, tokens, reserved int64) *fixed {
	next := *f
	next.closed = slices.Clone(f.closed)
	if f.start == start {
		next.count = max(0, f.count-tokens)
		next.reserved = min(max(0, f.reserved-reserved), next.count)
		return &next
	}
	for i := range next.closed {
		if w := &next.closed[i]; w.start == start {
			back := min(tokens, w.used)
			w.used -= back
			w.reserved = min(max(0, w.reserved-reserved), w.used)
			if i == 0 && f.limit.rollover > 0 {
				next.left += back
			} else if w.used == 0 {
				next.closed = slices.Delete(next.closed, i, i+1)
			}
			break
		}
	}
	if f.limit.rollover == 0 {
		next.record = next.record.withoutUnused()
	}
	return &next
}

// usage answers RL.USAGE.
func usage(m *Model, words []string) (string, error) {
	if err := checkKey(words[1]); err != nil {
		return "", err
	}
	s := m.held(words[1])
	if s == nil {
		return null, nil
	}
	if err := checkLimiter(s); err != nil {
		return "", err
	}
	return array(usageOf(m, s)...), nil
}

// policyUsage answers RL.POLICY USAGE.
func policyUsage(m *Model, words []string) (string, error) {
	if words[3] == "" {
		return "", errEmptyCaller
	}
	var call request
	if err := call.readOptions("RL.POLICY USAGE", words[4:], []string{"WITH"}); err != nil {
		return "", err
	}
	_, limits, err := limitsOf(m, words[2], words[3], call.fields)
	if err != nil {
		return "", err
	}
	for _, r := range limits {
		if _, err := m.heldFor(r.key, r.limit.algorithm); err != nil {
			return "", err
		}
	}
	var all []string
	for _, r := range limits {
		fields := []string{bulk("limit"), integer(r.limit.most), bulk("used"), integer(0), bulk("reserved"), null, bulk("lent"), integer(0), bulk("remaining"), integer(r.limit.most),
			bulk("start_ms"), null, bulk("end_ms"), null, bulk("history"), array()}
		if s := m.held(r.key); s != nil {
			fields = usageOf(m, s)
		}
		all = append(all, array(append([]string{bulk("key"), bulk(r.key)}, fields...)...))
	}
	return array(all...), nil
}

// usageOf are the fields of a limiter's usage.
func usageOf(m *Model, s state) []string {
	l, remaining, _ := s.look(m.Now)
	inner, lent := withoutLoans(s)
	used, reserved, start, end, closed := l.most-remaining-lent, null, null, null, []string{}
	if l.algorithm == fixedWindow {
		f := fixedUnder(inner, l, m.Now)
		if f.count > 0 || l.window != "" {
			start, end = integer(f.start/millisecond), integer(f.end/millisecond)
		}
		if l.history > 0 {
			reserved = integer(f.reserved)
			used -= f.reserved
			for _, w := range f.record.withoutUnused().closed {
				closed = append(closed, integers(w.start/millisecond, w.end/millisecond, w.used-w.reserved, w.reserved))
			}
		}
	}
	return []string{bulk("limit"), integer(l.most), bulk("used"), integer(used), bulk("reserved"), reserved, bulk("lent"), integer(lent), bulk("remaining"), integer(remaining),
		bulk("start_ms"), start, bulk("end_ms"), end, bulk("history"), array(closed...)}
}

// readHistory reads the number of closed windows that a limit keeps.
func (l *limit) readHistory(text string) error {
	if l.algorithm != fixedWindow {
		return refuse("ERR HISTORY: needs FW, got %s", formOf(l.algorithm).word)
	}
	n, err := between("HISTORY", text, 1, 36)
	l.history = int(n)
	return err
}

// readRollover reads the part of the limit that may roll over.
func (l *limit) readRollover(text string) error {
	if l.algorithm != fixedWindow || l.window == "" {
		return refuse("ERR ROLLOVER: needs FW and a window that begins with @, such as @month, got '%s'", l.lastWord())
	}
	if l.history == 0 {
		l.history = 2
	}
	var err error
	l.rollover, err = wholePercentage("ROLLOVER", text)
	return err
}

// randomRollover lets some windows roll over what they leave, mostly the same ones.
func randomRollover(c *Calls, f *form, limit []string) []string {
	if f.algorithm != fixedWindow || len(limit[0])%2 == 0 {
		if c.chance(60) {
			return []string{"ROLLOVER", c.pick("50%", "0%", "101%", "x")}
		}
		return nil
	}
	if !strings.HasPrefix(limit[1], "@") && !c.chance(20) || c.chance(6) {
		return nil
	}
	return []string{c.pick("ROLLOVER", "rollover"), c.pick("50%", "50%", "100%", "1%", "33%")}
}

// randomHistory keeps closed windows for some limits, mostly the same for each.
func randomHistory(c *Calls, f *form, limit []string) []string {
	if len(limit) == 0 {
		return nil
	}
	if f.algorithm != fixedWindow && !c.chance(60) {
		return nil
	}
	text, sum := limit[0]+limit[len(limit)-1], 0
	for i := range len(text) {
		sum += int(text[i])
	}
	n := []int{0, 0, 0, 1, 2, 3, 5}[sum%7]
	if c.chance(20) {
		n = c.random.IntN(40)
	}
	if n == 0 {
		return nil
	}
	return []string{c.pick("HISTORY", "HISTORY", "history"), strconv.Itoa(n)}
}

// policyUsage asks for the usage of a policy's limits, sometimes without a field.
func (c *Calls) policyUsage() []string {
	name, id := c.pick("p", "q", "q", "none"), c.id()
	words := []string{"RL.POLICY", c.pick("USAGE", "usage"), name, id}
	if p := c.Model.policies[name]; p != nil {
		for i, field := range p.asks(id) {
			if i == 0 {
				words = append(words, "WITH")
			}
			words = append(words, field, c.pick("", "x", "acme"))
		}
	}
	return words
}

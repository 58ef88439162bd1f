package stinttest

import "fmt"

func (f *Fake) usage(words []string) (string, error) {
	held := f.held(words[0])
	if held.state == nil {
		return "$-1", nil
	}
	return "*16" + f.usageOf(words[0], held), nil
}

func (f *Fake) policyUsage(words []string) (string, error) {
	parts, err := f.partsOf(words[0], words[1], words[2:])
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("*%d", len(parts))
	for _, p := range parts {
		held := f.held(p.key)
		if held.state == nil {
			held.limit = limit{tokens: p.limit.tokens} // nothing more is known of it
		}
		text += fmt.Sprintf("\r\n*18\r\n%s\r\n%s%s", bulk("key"), bulk(p.key), f.usageOf(p.key, held))
	}
	return text, nil
}

// usageOf is the fields of the usage of a limiter. Nothing is lent.
func (f *Fake) usageOf(key string, held entry) string {
	l, remaining := held.limit, held.limit.tokens
	start, end, reserved, history := "$-1", "$-1", "$-1", "*0"
	notUsed := int64(0)
	if held.state != nil {
		present, _ := f.decide(key, l, ask{n: l.tokens + 1})
		remaining = present.remaining
	}
	if w, is := held.state.(window); is {
		now := f.now.UnixNano()
		w = l.present(w, now)
		if w.taken > 0 || l.window[0] == '@' {
			start, end = integer(w.start/1e6), integer(w.end/1e6)
		}
		if l.history > 0 {
			notUsed = min(w.reserved, w.taken)
			reserved, history = integer(notUsed), fmt.Sprintf("*%d", len(w.closed))
		}
		for _, p := range w.closed {
			kept := min(p.reserved, p.taken)
			history += "\r\n" + array(p.start/1e6, p.end/1e6, p.taken-kept, kept)
		}
	}
	text := ""
	for _, field := range [][2]string{
		{"limit", integer(l.tokens)}, {"used", integer(l.tokens - remaining - notUsed)}, {"reserved", reserved}, {"lent", ":0"},
		{"remaining", integer(remaining)}, {"start_ms", start}, {"end_ms", end}, {"history", history},
	} {
		text += "\r\n" + bulk(field[0]) + "\r\n" + field[1]
	}
	return text
}

func integer(n int64) string { return fmt.Sprintf(":%d", n) }

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s", len(text), text) }

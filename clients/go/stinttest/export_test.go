package stinttest

// Execute carries out a command and returns its reply in RESP, without the final line end.
func (f *Fake) Execute(words []string) string { return f.reply(words) }

package acl

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/command"
)

// FuzzUserFile reads files of users: whatever they hold, they are read or refused, and what is written of what was read
// says the same.
func FuzzUserFile(f *testing.F) {
	for _, text := range []string{
		"", "# nobody\n", "user default on nopass ~* +@all\n", "user a on >b ~c* %R~d %W~e* -@all +get +config|get -@dangerous max-rate=5\n",
		"user a on #" + strings.Repeat("0a", 32) + " ~t:* +@limiter max-keys=7\nuser b reset off allkeys allcommands resetpass\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		users, err := parse(text)
		if err != nil {
			return
		}
		var lines bytes.Buffer
		for name, r := range users {
			u := &User{name: name}
			u.rights.Store(r)
			lines.WriteString(u.line() + "\n")
		}
		again, err := parse(lines.Bytes())
		if err != nil || len(again) != len(users) {
			t.Fatalf("%q is written as\n%s%v", text, lines.String(), err)
		}
		for name, r := range users {
			same := again[name]
			if same == nil || same.enabled != r.enabled || same.noPass != r.noPass || len(same.passwords) != len(r.passwords) ||
				same.describeKeys() != r.describeKeys() || same.maxKeys != r.maxKeys || same.maxRate != r.maxRate {
				t.Fatalf("user %s of %q is read back otherwise from\n%s", name, text, lines.String())
			}
			for _, row := range command.All {
				if same.may(row.Number) != r.may(row.Number) {
					t.Fatalf("user %s of %q: %s is allowed %t, and read back otherwise from\n%s", name, text, row.FullName, r.may(row.Number), lines.String())
				}
			}
		}
	})
}

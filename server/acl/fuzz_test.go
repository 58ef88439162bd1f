package acl

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stintdb/stint/server/command"
)

// FuzzUserFile reads files of users with any contents. They are accepted or refused, and writing and reading the
// accepted users again changes nothing.
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
		wantReadBack(t, users)
	})
}

// FuzzSavedUsers sets users by arbitrary names, patterns and rules: accepted users are the same after a save and a
// load.
func FuzzSavedUsers(f *testing.F) {
	f.Add("u", "~app:\u3000~*", "+del")
	f.Add("default\u3000x", "~tenant\u00a0"+"7:*", "+@all")
	f.Add("a\u0085b", "%R~\u2028x", "-@all")
	f.Add("\xa0\xff", "~\x85\x7f", "max-rate=5")
	f.Add("#x", "~#", "&c h")
	f.Fuzz(func(t *testing.T, name, pattern, rule string) {
		users, err := New(Settings{File: filepath.Join(t.TempDir(), "missing")})
		if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		_ = users.Set(name, []string{"on", pattern, rule})
		_ = users.Set(name, []string{">" + rule})
		before := map[string]*rights{}
		for n, u := range *users.byName.Load() {
			before[n] = u.rights.Load()
		}
		wantReadBack(t, before)
		if err := users.Save(); err != nil {
			t.Fatal(err)
		}
		lines := users.Lines()
		if err := users.Load(); err != nil {
			t.Fatalf("%q is not loaded: %v", lines, err)
		}
		if again := users.Lines(); !slices.Equal(again, lines) {
			t.Errorf("%q is loaded as %q", lines, again)
		}
	})
}

// wantReadBack writes users to a file and expects to read the same users.
func wantReadBack(t *testing.T, users map[string]*rights) {
	t.Helper()
	var lines bytes.Buffer
	for name, r := range users {
		u := &User{name: name}
		u.rights.Store(r)
		lines.WriteString(u.line() + "\n")
	}
	again, err := parse(lines.Bytes())
	if err != nil || len(again) != len(users) {
		t.Fatalf("this is written, and read with %v:\n%s", err, lines.String())
	}
	for name, r := range users {
		same := again[name]
		if same == nil || same.enabled != r.enabled || same.noPass != r.noPass || len(same.passwords) != len(r.passwords) ||
			!slices.Equal(same.patterns, r.patterns) || same.maxKeys != r.maxKeys || same.maxRate != r.maxRate {
			t.Fatalf("user %s is read back otherwise from\n%s", name, lines.String())
		}
		for _, row := range command.All {
			if same.may(row.Number) != r.may(row.Number) {
				t.Fatalf("user %s: %s is allowed %t, and read back otherwise from\n%s", name, row.FullName, r.may(row.Number), lines.String())
			}
		}
	}
}

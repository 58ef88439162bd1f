package acl

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/stintdb/stint/internal/atomicfile"
	"github.com/stintdb/stint/server/command"
)

// maxFileBytes limits a file of users.
const maxFileBytes = 16 << 20

// Load reads the file of users again. Users in the file get the rights that it states; all others are deleted. If
// anything in the file is wrong, nothing changes.
func (u *Users) Load() error {
	if u.file == "" {
		return command.ErrNoACLFile
	}
	if err := u.load(); err != nil {
		return command.ErrACLLoad.With(err)
	}
	return nil
}

func (u *Users) load() error {
	text, err := readFile(u.file)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("the file of users cannot be read: %w; create an empty file, which ACL SAVE then writes", err)
	}
	if err != nil {
		return fmt.Errorf("the file of users cannot be read: %w", err)
	}
	read, err := parse(text)
	if err != nil {
		return fmt.Errorf("%s %w", u.file, err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if _, named := read[DefaultName]; !named {
		read[DefaultName] = &u.initial
	}
	before, next := *u.byName.Load(), make(map[string]*User, len(read))
	for name, r := range read {
		user := before[name]
		if user == nil {
			user = &User{name: name}
		}
		user.rights.Store(r)
		next[name] = user
	}
	u.byName.Store(&next)
	for name, user := range before {
		if next[name] == nil {
			u.drop(user)
		}
	}
	u.changed(u.quotas())
	return nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", name))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err == nil && len(text) > maxFileBytes {
		err = fmt.Errorf("%s has more than %d bytes", name, maxFileBytes)
	}
	return text, err
}

// parse parses a file of users: a line "user name rule …" for each. It ignores empty lines, lines that begin with #,
// and a byte order mark at the start, which some editors write. Errors name the line.
func parse(text []byte) (map[string]*rights, error) {
	users := map[string]*rights{}
	for i, line := range bytes.Split(bytes.TrimPrefix(text, []byte("\ufeff")), []byte{'\n'}) {
		words := strings.FieldsFunc(string(line), isBlank)
		if len(words) == 0 || words[0][0] == '#' {
			continue
		}
		r, err := parseLine(words)
		if err == nil && users[words[1]] != nil {
			err = fmt.Errorf("user '%s' comes twice", truncate(words[1]))
		}
		if err == nil && len(users) >= MaxUsers {
			err = fmt.Errorf("there may be %d users", MaxUsers)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		users[words[1]] = r
	}
	return users, nil
}

// isBlank reports whether a character separates words of a line, so that names and patterns cannot contain it.
// Unicode's other spaces are ordinary characters.
func isBlank(c rune) bool { return c <= ' ' }

func parseLine(words []string) (*rights, error) {
	if words[0] != "user" || len(words) < 2 {
		return nil, errors.New("a line is: user NAME RULE…")
	}
	if !isName(words[1]) {
		return nil, errors.New("a user's name has 1 to 64 bytes")
	}
	r := newRights()
	for _, rule := range words[2:] {
		if err := r.apply(rule); err != nil {
			return nil, fmt.Errorf("'%s': %w", truncate(redact(rule)), err)
		}
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	r.derive()
	return &r, nil
}

// Save writes the users to their file. The file is replaced atomically, and only the server's own account can read it.
func (u *Users) Save() error {
	if u.file == "" {
		return command.ErrNoACLFile
	}
	if err := atomicfile.Write(u.file, []byte(strings.Join(u.Lines(), "\n")+"\n")); err != nil {
		return command.ErrACLSave.With(err)
	}
	return nil
}

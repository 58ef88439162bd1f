package config

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// secret is a password. Only its hash is kept: # and 64 hexadecimal digits, which is also a way to write it.
type secret struct{ field *string }

func (v *secret) String() string  { return *v.field }
func (v *secret) Type() string    { return "secret" }
func (v *secret) Allowed() string { return "a password, or # and 64 hexadecimal digits in lower case" }

func (v *secret) Set(text string) error {
	digits, isHash := strings.CutPrefix(text, "#")
	switch raw, err := hex.DecodeString(digits); {
	case text == "":
		*v.field = ""
	case !isHash:
		sum := sha256.Sum256([]byte(text))
		*v.field = "#" + hex.EncodeToString(sum[:])
	case err != nil || len(raw) != sha256.Size || strings.ToLower(digits) != digits:
		return must(v.Allowed())
	default:
		*v.field = text
	}
	return nil
}

// Password is the hash of the default user's password, nil if it has none.
func (c *Config) Password() *[sha256.Size]byte {
	if c.RequirePass == "" {
		return nil
	}
	var h [sha256.Size]byte
	_, _ = hex.Decode(h[:], []byte(c.RequirePass[1:])) // what Set let through is hexadecimal
	return &h
}

// checkUsers keeps the default user's password from being in two places.
func checkUsers(c *Config) error {
	if c.ACLFile != "" && c.RequirePass != "" {
		return conflictf("requirepass and acl-file (%s) both say who may log in: give the user default its password in the file", c.ACLFile)
	}
	return nil
}

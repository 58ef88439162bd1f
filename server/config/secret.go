package config

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

const typeSecret = "secret"

// secret is a password. Only its hash is kept: # and 64 hexadecimal digits, which is also accepted as a value.
type secret struct{ field *string }

func (v *secret) String() string  { return *v.field }
func (v *secret) Type() string    { return typeSecret }
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

// minJoinSecret is the shortest secret of nodes. It is long because guesses can be tested offline, without asking a
// node.
const minJoinSecret = 32

// joinSecret is a secret of nodes. Its hash differs from the hash of the same text as a password, which is in more
// files.
type joinSecret struct{ secret }

func (v *joinSecret) Allowed() string {
	return fmt.Sprintf("%d or more random characters, as from openssl rand -hex 32, or # and 64 hexadecimal digits in lower case", minJoinSecret)
}

func (v *joinSecret) Set(text string) error {
	if text != "" && !strings.HasPrefix(text, "#") {
		if len(text) < minJoinSecret {
			return must(v.Allowed())
		}
		text = "nodes of a cluster: " + text
	}
	if v.secret.Set(text) != nil {
		return must(v.Allowed())
	}
	return nil
}

// headerSecret is a secret that clients send in an HTTP header. It refuses line ends, which echo adds, because no
// client could send them.
type headerSecret struct{ secret }

func (v *headerSecret) Allowed() string {
	return "a password without line ends (echo -n writes none), or # and 64 hexadecimal digits in lower case"
}

func (v *headerSecret) Set(text string) error {
	if strings.ContainsAny(text, "\r\n") {
		return must(v.Allowed())
	}
	return v.secret.Set(text)
}

// JoinSecret is the hash of --cluster-secret, nil if there is none.
func (c *Config) JoinSecret() *[sha256.Size]byte { return hashOf(c.ClusterSecret) }

// Password is the hash of the default user's password, nil if it has none.
func (c *Config) Password() *[sha256.Size]byte { return hashOf(c.RequirePass) }

func hashOf(secret string) *[sha256.Size]byte {
	if secret == "" {
		return nil
	}
	var h [sha256.Size]byte
	_, _ = hex.Decode(h[:], []byte(secret[1:])) // Set only permits hexadecimal digits
	return &h
}

// checkUsers refuses a password of the default user in two places.
func checkUsers(c *Config) error {
	if c.ACLFile != "" && c.RequirePass != "" {
		return conflictf("--requirepass and --acl-file (%s) both say who may log in: give the user default its password in the file", c.ACLFile)
	}
	return nil
}

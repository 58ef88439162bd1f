package acl

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
)

// Hash is the stored form of a password: its SHA-256, as in Redis's ACL files. It is neither salted nor slow, so that
// Redis's files and clients work unchanged and a flood of logins costs little. Passwords should therefore be long and
// random, like the output of ACL GENPASS.
type Hash [sha256.Size]byte

// HashOf returns the hash of a password.
func HashOf(password []byte) Hash { return sha256.Sum256(password) }

var errHash = errors.New("a hash must be 64 hexadecimal digits")

// ParseHash parses a hash of 64 hexadecimal digits.
func ParseHash(text string) (h Hash, err error) {
	if len(text) != 2*len(h) {
		return h, errHash
	}
	if _, err := hex.Decode(h[:], []byte(text)); err != nil {
		return h, errHash
	}
	return h, nil
}

// String returns the hash in hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// among reports whether h is one of all. The time that it takes only depends on their number.
func (h Hash) among(all []Hash) bool {
	found := 0
	for i := range all {
		found |= subtle.ConstantTimeCompare(h[:], all[i][:])
	}
	return found == 1
}

// GeneratePassword implements [command.Users]. It returns a random password of a number of bits, rounded up to a whole
// hexadecimal digit.
func (*Users) GeneratePassword(bits int) string {
	raw := make([]byte, (bits+7)/8)
	_, _ = rand.Read(raw) // never fails: the runtime would end the process
	return hex.EncodeToString(raw)[:(bits+3)/4]
}

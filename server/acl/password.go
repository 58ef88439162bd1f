package acl

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
)

// Hash is the stored form of a password: its SHA-256, as in Redis's ACL files. It is not salted and not slow, so that files
// and clients of Redis go on working and a flood of logins costs little; passwords should therefore be long and random,
// as ACL GENPASS makes them.
type Hash [sha256.Size]byte

// HashOf returns the hash of a password.
func HashOf(password []byte) Hash { return sha256.Sum256(password) }

var errHash = errors.New("a hash must be 64 hexadecimal digits")

// ParseHash reads a hash from 64 hexadecimal digits.
func ParseHash(text string) (h Hash, err error) {
	if len(text) != 2*len(h) {
		return h, errHash
	}
	if _, err := hex.Decode(h[:], []byte(text)); err != nil {
		return h, errHash
	}
	return h, nil
}

// String is the hash in hexadecimal digits.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// among reports whether h is one of all. How long that takes depends on their number alone.
func (h Hash) among(all []Hash) bool {
	found := 0
	for i := range all {
		found |= subtle.ConstantTimeCompare(h[:], all[i][:])
	}
	return found == 1
}

// GeneratePassword implements [command.Users]: it returns a random password of the given number of bits, rounded up to a hexadecimal digit.
func (*Users) GeneratePassword(bits int) string {
	raw := make([]byte, (bits+7)/8)
	_, _ = rand.Read(raw) // never fails: the runtime ends the process instead
	return hex.EncodeToString(raw)[:(bits+3)/4]
}

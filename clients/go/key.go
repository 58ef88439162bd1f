package stint

import (
	"crypto/sha256"
	"encoding/hex"
)

// Keys and ids often come from outside: paths, user names, metadata. The server refuses those over --max-key-size, and
// one that is too long for the protocol closes the connection for all commands of its pipeline.
const (
	maxKeyBytes  = 200 // longer ones are shortened
	keptKeyBytes = 136 // of a long key, for people to recognise and for the patterns of an ACL to match
	hashMark     = ":sha256:"
)

// A serverKey is the form of a key or caller id that is sent to the server. Behind the exported methods keys have this
// type, because shortening one twice would change it.
type serverKey string

// shortKey is the form of a key or an id that is sent to the server. A long one is shortened to its first 136 bytes,
// ":sha256:", and the SHA-256 of all its bytes in hexadecimal digits. These are 208 bytes, more than an unshortened key
// has, so no key can be chosen to collide with the short form of another.
func shortKey(key string) serverKey {
	if len(key) <= maxKeyBytes {
		return serverKey(key)
	}
	sum := sha256.Sum256([]byte(key))
	return serverKey(key[:keptKeyBytes] + hashMark + hex.EncodeToString(sum[:]))
}

package topkeys

import (
	"crypto/sha256"
	"encoding/hex"
)

// Hash is what is shown in place of a key, for whoever does not know the salt.
func Hash(salt string, key []byte) string {
	h := sha256.New()
	h.Write([]byte(salt))
	h.Write(key)
	return "hash:" + hex.EncodeToString(h.Sum(nil)[:8])
}

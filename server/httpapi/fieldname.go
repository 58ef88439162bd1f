package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/stintdb/stint/server/ratefields"
)

// maxNameInField bounds the name of a policy in fields, which proxies bound.
const maxNameInField = 128

// nameInField writes the name of a policy so that no two look alike, nor one like a limit of another, nor like limits
// without a policy. Bytes that a string of structured fields cannot hold are written as in URLs, and so are %, and the
// last colon of a name that ends like a position. A long name is cut, and ends with its hash after %~, which no other
// name has.
func nameInField(policy string) string {
	if policy == nameOfLimits {
		return "%6C" + policy[1:]
	}
	colon := positionAt(policy)
	isPlain := colon < 0
	for i := range len(policy) {
		isPlain = isPlain && ratefields.IsPlain(policy[i])
	}
	if isPlain && len(policy) <= maxNameInField {
		return policy
	}
	name := ratefields.Escape(policy)
	if colon >= 0 {
		name = ratefields.Escape(policy[:colon]) + "%3A" + policy[colon+1:] // digits
	}
	if len(name) <= maxNameInField {
		return name
	}
	sum := sha256.Sum256([]byte(policy))
	end := "%~" + hex.EncodeToString(sum[:8])
	return name[:maxNameInField-len(end)] + end
}

// positionAt is the place of the colon before the digits at the end of a name, -1 if it does not end so.
func positionAt(name string) int {
	text := strings.TrimRight(name, "0123456789")
	if len(text) == len(name) || !strings.HasSuffix(text, ":") {
		return -1
	}
	return len(text) - 1
}

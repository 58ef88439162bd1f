// Package callers names the callers of policies that have no name.
package callers

import "cmp"

// anonymous is the same in the clients of all languages.
const anonymous = "anonymous"

// ID is the id of a caller whose key may be "": policies take no empty one.
func ID(key string) string { return cmp.Or(key, anonymous) }

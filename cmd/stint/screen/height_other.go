//go:build !unix

package screen

import "io"

// heightOf is unknown on this system.
func heightOf(io.Writer) int { return 0 }

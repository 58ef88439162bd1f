//go:build !unix

package main

import "math"

// openFilesLimit is the number of file descriptors that this process may have open.
func openFilesLimit() int { return math.MaxInt32 }

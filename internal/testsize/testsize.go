// Package testsize chooses the size of long tests: random runs, damaged bytes, simulated faults. go test ./... runs them at
// a quick size, so that all of it takes about a minute. With TEST_SIZE=full in the environment, as .ci/run and .ci/nightly
// set it, they run at full size.
package testsize

import "os"

// Pick returns full if the environment has TEST_SIZE=full, else quick.
func Pick(quick, full int) int {
	if os.Getenv("TEST_SIZE") == "full" {
		return full
	}
	return quick
}

// Package testsize chooses the size of long tests: random runs, damaged bytes, simulated faults. go test ./... runs
// them at a quick size, also in .ci/run. With TEST_SIZE=full in the environment they run at full size, and with
// TEST_SIZE=nightly, as in .ci/nightly, at ten times that.
package testsize

import (
	"os"
	"runtime"
)

// IsNightly reports whether tests run at the size of .ci/nightly, on a machine with nothing else to do.
func IsNightly() bool { return os.Getenv("TEST_SIZE") == "nightly" }

// Pick returns full if the environment has TEST_SIZE=full, ten times as much with TEST_SIZE=nightly, else quick. A full
// size below the quick one is the distance between two tries, and stays as it is.
func Pick(quick, full int) int {
	switch os.Getenv("TEST_SIZE") {
	case "full":
		return full
	case "nightly":
		if quick > full {
			return full
		}
		return 10 * full
	}
	return quick
}

// OneProcessor has the tests of a package run on one processor, from its TestMain, unless a flag -cpu says otherwise.
// Goroutines of a synctest bubble hand their work to each other all the time: with more processors each wakes another
// one, and the tests take a fifth to a half more CPU time. go test ./... runs other packages beside them.
func OneProcessor() { runtime.GOMAXPROCS(1) }

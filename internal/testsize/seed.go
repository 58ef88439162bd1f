package testsize

import (
	"os"
	"strconv"
	"time"
)

// Seed returns the seed of a random test: 1, so that a change is not refused for a defect which it did not make, unless
// TEST_SEED in the environment is another number, or "random", as .ci/nightly sets it.
func Seed() uint64 {
	switch text := os.Getenv("TEST_SEED"); text {
	case "":
		return 1
	case "random":
		return uint64(time.Now().UnixNano())
	default:
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			panic("TEST_SEED: " + text + ` is neither a number nor "random"`)
		}
		return seed
	}
}

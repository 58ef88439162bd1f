package testdisk

import (
	"flag"

	"github.com/stintdb/stint/internal/testsize"
)

// What random tests of files are told on the command line.
var (
	Seeds     = flag.Int("seeds", testsize.Pick(10, 40), "random runs of every property test")
	FirstSeed = flag.Uint64("first-seed", 0, "seed of the first of them")
)

package script

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stintdb/stint/internal/testgenerated"
	"github.com/stintdb/stint/internal/testscripts"
)

// TestGeneratedScriptsAreAlike holds replies, steps and changes of keys of generated scripts to testdata/generated.txt,
// which has a hash of each hundred. Nodes of a cluster run the same scripts, on whichever processor and in each release:
// a difference here needs another dialect.
func TestGeneratedScriptsAreAlike(t *testing.T) {
	const hashes, perHash = 20, 100
	g := testscripts.Generator{Rand: rand.New(rand.NewPCG(1, 3))}
	var file []byte
	for range hashes {
		hash := sha256.New()
		for i := range perHash {
			body := g.Program()
			if i%4 == 3 {
				body = g.Script()
			}
			m := newMemory()
			program, err := Compile([]byte(body))
			if err != nil {
				fmt.Fprintf(hash, "%v\n", err)
				continue
			}
			reply := program.Run(nil, testKeys, testArgs, m)
			fmt.Fprintf(hash, "%d %q %v\n", program.Steps(), reply, m.values)
		}
		file = fmt.Appendf(file, "%x\n", hash.Sum(nil)[:8])
	}
	testgenerated.Check(t, "testdata/generated.txt", file, *update, "go test ./engine/script -update, and give scripts another dialect")
}

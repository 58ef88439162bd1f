package script

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/stintdb/stint/internal/testscripts"
)

// TestBytesIsTheMemoryOfPrograms compares [Program.Bytes] with what programs hold.
func TestBytesIsTheMemoryOfPrograms(t *testing.T) {
	sources := []string{gcra, look, "return '" + strings.Repeat("x", 50_000) + "'", "--" + strings.Repeat("x", 20_000)}
	for _, statement := range []string{"f() ", "a = a + 1 ", "a.b.c.d = 1 ", "do local b = 1 end ", "a(1, 2, 3, 4, 5, 6, 7, 8, 9) ",
		"if a then a = 1 end ", "redis.call('SET', KEYS[1], ARGV[1]) ", "a = {1, 2, 3, 'x', 'y'} "} {
		sources = append(sources, "local a "+strings.Repeat(statement, 300))
	}
	g := testscripts.Generator{Rand: rand.New(rand.NewPCG(1, 4))}
	for range 10 {
		sources = append(sources, g.Program())
	}
	for _, name := range transcripts(t) {
		for i, s := range readTranscript(t, name) {
			if i%8 == 0 && s.command != "" {
				sources = append(sources, s.saying("'ECHO'"))
			}
		}
	}
	for _, source := range sources {
		if program, err := Compile([]byte(source)); err == nil {
			held := heldBy(source)
			if bytes := program.Bytes(); bytes < held/2 || bytes > held*2 {
				t.Errorf("%.60q of %d bytes holds %d bytes, and Bytes is %d", source, len(source), held, bytes)
			}
		}
	}
}

// heldBy is the memory of a compiled source, in bytes.
func heldBy(source string) int {
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // sync.Pool keeps what it has for one
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	programs := make([]*Program, 100)
	before := heap()
	for i := range programs {
		programs[i], _ = Compile([]byte(source))
	}
	held := (heap() - before) / len(programs)
	runtime.KeepAlive(programs)
	return held
}

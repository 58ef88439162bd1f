package data

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine/script"
	"github.com/stintdb/stint/engine/scriptcache"
)

func programOf(i int) []byte { return fmt.Appendf(nil, "return %d", i) }

func TestPrograms(t *testing.T) {
	var p programs
	first, err := p.compile(programOf(0))
	if err != nil {
		t.Fatal(err)
	}
	ofDigest := func() *script.Program {
		_, found := p.ofName([]byte(strings.ToUpper(scriptcache.Digest(programOf(0)))))
		return found
	}
	if again, _ := p.compile(programOf(0)); again != first || p.ofBody(programOf(0)) != first || ofDigest() != first {
		t.Error("a body was compiled twice, or is not found by its digest")
	}
	if _, err := p.compile([]byte("return (")); err == nil || p.ofBody([]byte("return (")) != nil {
		t.Errorf("a body that is no script: error %v", err)
	}
	p.clear()
	if p.ofBody(programOf(0)) != nil || ofDigest() != nil {
		t.Error("a script is there after all were forgotten")
	}
}

// The memory of compiled scripts is limited. Scripts in use stay.
func TestProgramsAreBoundedByTheirMemory(t *testing.T) {
	var p programs
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before, used := heap(), []byte("return 'used'")
	kept, err := p.compile(used)
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for i := range 200 {
		compiled, err := p.compile(fmt.Appendf(nil, "--%d\n%s", i, strings.Repeat("local function f(a) return a + 1 end ", 140)+strings.Repeat("do local x = {a = 1} end ", 200)))
		if err != nil {
			t.Fatal(err)
		}
		all += compiled.Bytes()
		if p.ofBody(used) != kept {
			t.Fatalf("the script that is used is gone after %d others", i)
		}
	}
	if grown := heap() - before; grown > maxProgramBytes || all < 4*maxProgramBytes {
		t.Errorf("the heap grew by %d bytes, more than %d, for scripts of %d in all", grown, maxProgramBytes, all)
	}
	runtime.KeepAlive(&p)
}

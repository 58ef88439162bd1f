package command

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stintdb/stint/engine"
)

func TestPrograms(t *testing.T) {
	var p programs
	body := func(i int) []byte {
		return fmt.Appendf(nil, "--%s\nreturn %d", strings.Repeat("x", engine.MaxScriptBytes-100), i)
	}
	first, err := p.compile(body(0))
	if err != nil {
		t.Fatal(err)
	}
	digest := []byte(engine.ScriptDigest(body(0)))
	if again, _ := p.compile(body(0)); again != first || p.ofBody(body(0)) != first || p.ofDigest(digest) != first {
		t.Error("a body was compiled twice, or is not found by its digest")
	}
	for i := 1; i*engine.MaxScriptBytes <= maxProgramBytes+engine.MaxScriptBytes; i++ {
		if _, err := p.compile(body(i)); err != nil {
			t.Fatal(err)
		}
	}
	if p.ofBody(body(0)) != nil || p.ofDigest(digest) != nil {
		t.Error("the programs are not bounded")
	}
	if _, err := p.compile([]byte("return (")); err == nil || p.ofBody([]byte("return (")) != nil {
		t.Errorf("a body that is no script: error %v", err)
	}
}

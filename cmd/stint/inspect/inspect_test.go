package inspect

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stintdb/stint/cmd/stint/progress"
)

// An inspection shows how much of each file was read.
func TestInspectShowsHowMuchWasRead(t *testing.T) {
	var out bytes.Buffer
	i := &inspector{ctx: t.Context(), out: io.Discard, line: progress.OnTerminal(&out)}
	if err := i.path("../../../persistence/testdata/golden/v2"); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "reading snapshot-") || !strings.HasSuffix(text, " % of 0 MB") {
		t.Errorf("shows %q", text)
	}
}

package script

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const recordFile = "testdata/replies.txt"

var (
	testKeys = [][]byte{[]byte("key"), []byte("other")}
	testArgs = [][]byte{[]byte("5"), []byte("abc"), []byte(" 0x10 "), []byte("1.5")}
)

// record is a script of one line, and the reply that Redis 7.0 gives. In the file, \n behind "#!" stands for an end of
// line.
type record struct{ script, reply string }

func readRecords(t *testing.T) (records []record) {
	text, err := os.ReadFile(recordFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if reply, is := strings.CutPrefix(line, "\t"); is {
			records[len(records)-1].reply = reply
		} else {
			if strings.HasPrefix(line, "#!") {
				line = strings.ReplaceAll(line, `\n`, "\n")
			}
			records = append(records, record{script: line})
		}
	}
	if len(records) < 100 {
		t.Fatalf("only %d scripts", len(records))
	}
	return records
}

// TestReplies compares with the replies of a Redis 7.0, byte for byte.
func TestReplies(t *testing.T) {
	for _, r := range readRecords(t) {
		if got := fmt.Sprintf("%q", eval(r.script, newMemory())); got != r.reply {
			t.Errorf("%s\nreplied %s\nRedis   %s", r.script, got, r.reply)
		}
	}
}

// eval runs a script as EVAL does.
func eval(body string, caller Caller) []byte {
	p, err := Compile([]byte(body))
	if err != nil {
		return appendError(nil, err.Error())
	}
	return p.Run(nil, testKeys, testArgs, caller)
}

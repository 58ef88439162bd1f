//go:build e2e

package script

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestTranscriptsOfRedis holds the transcripts to a real Redis. It must reply otherwise to the scripts whose outcome is
// marked as this server's own; scripts that it does not end are left out.
func TestTranscriptsOfRedis(t *testing.T) {
	redis := startRedis(t)
	for _, name := range transcripts(t) {
		for _, s := range readTranscript(t, name) {
			if s.command == "" || s.command == "run endless" {
				continue
			}
			redis.Call(nil, [][]byte{[]byte("FLUSHALL")}, nil)
			reply := redis.eval(s.saying("'RPUSH','said'"), testKeys, testArgs)
			list, _ := redis.Call(nil, [][]byte{[]byte("LRANGE"), []byte("said"), []byte("0"), []byte("-1")}, nil)
			got := outcome(textsOf(list), reply)
			want := s.want
			if lines := strings.SplitAfter(want, "\n"); len(lines) > 1 && strings.HasSuffix(lines[len(lines)-2], " steps\n") {
				want = strings.Join(lines[:len(lines)-2], "")
			}
			if (got == want) != (s.command == "run") {
				t.Errorf("%s: %s\n%s\nRedis:\n%srecorded:\n%s", filepath.Base(name), s.command, s.script, got, want)
			}
		}
	}
}

// textsOf are the texts of a list, in RESP2.
func textsOf(list []byte) (texts []string) {
	for _, rest, _ := bytes.Cut(list, []byte("\r\n")); len(rest) > 0; {
		head, after, _ := bytes.Cut(rest, []byte("\r\n"))
		n, _ := strconv.Atoi(string(head[1:]))
		texts, rest = append(texts, string(after[:n])), after[n+2:]
	}
	return texts
}

package server

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// cl_throttle_vectors.jsonl was recorded from redis-cell 0.5.0, in order and within a moment. With time standing still
// every reply must be the same.
func TestRecordedRedisCell(t *testing.T) {
	file, err := os.Open("testdata/cl_throttle_vectors.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p := newSessionPlayer(t, 0)
	lines := bufio.NewScanner(file)
	count := 0
	for ; lines.Scan(); count++ {
		var v struct {
			Cmd   []string        `json:"cmd"`
			Reply json.RawMessage `json:"reply"`
		}
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("line %d: %v", count+1, err)
		}
		command := make([][]byte, len(v.Cmd))
		for i, word := range v.Cmd {
			command[i] = []byte(word)
		}
		got, err := p.Do("", command, "")
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.ReplaceAll(string(v.Reply), ",", ""); got != want {
			t.Errorf("line %d: %v\n got %s\nwant %s", count+1, v.Cmd, got, want)
		}
	}
	if err := lines.Err(); err != nil || count < 30 {
		t.Fatalf("%d lines were read (%v)", count, err)
	}
}

package docs

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestLimitTexts asks the server for the limits that the clients read from text, and for those that they refuse.
func TestLimitTexts(t *testing.T) {
	text, err := os.ReadFile("../clients/vectors/limits.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Limits  map[string]string // the text, and the limit as RL.ALL takes it without its key
		Refused []string
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Limits) < 20 || len(vectors.Refused) < 20 {
		t.Fatalf("there are %d limits and %d refused ones", len(vectors.Limits), len(vectors.Refused))
	}
	p := newPlayer(t)
	defer p.Close()
	for text, limit := range vectors.Limits {
		if reply := p.askLimit(t, limit); !strings.HasPrefix(reply, "[1 -1 0 ") {
			t.Errorf("%q is %q, and the server answers %s", text, limit, reply)
		}
	}
	for _, limit := range vectors.Refused {
		if reply := p.askLimit(t, limit); !strings.HasPrefix(reply, "-ERR ") {
			t.Errorf("the server takes %q: %s", limit, reply)
		}
	}
}

// algorithmName is the form of the words that name algorithms in RL.ALL; the server refuses those that it does not know.
var algorithmName = regexp.MustCompile(`^[A-Z]{2}$`)

// askLimit asks for one token of a limit, as RL.ALL takes it, or of a rate.
func (p *player) askLimit(t *testing.T, limit string) string {
	t.Helper()
	words := strings.Fields(limit)
	if len(words) == 0 || !algorithmName.MatchString(words[0]) {
		words = []string{"TB", "1", limit}
	} else if len(words) == 5 && strings.EqualFold(words[3], "per") {
		words = []string{words[0], words[1], strings.Join(words[2:], " ")}
	}
	command := [][]byte{[]byte("RL.ALL"), []byte(words[0]), []byte("text:" + limit)}
	for _, word := range words[1:] {
		command = append(command, []byte(word))
	}
	reply, err := p.Do("", append(command, []byte("TOKENS"), []byte("1")), "")
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

package docs

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestLimitTexts asks the server for the limits that the clients read from text, and for limits that they refuse.
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
		if reply := p.askLimit(t, limit); strings.HasPrefix(reply, "-") {
			t.Errorf("%q is %q, and the server answers %s", text, limit, reply)
		}
	}
	for _, limit := range vectors.Refused {
		if reply := p.askLimit(t, limit); !strings.HasPrefix(reply, "-ERR ") {
			t.Errorf("the server takes %q: %s", limit, reply)
		}
	}
}

// algorithmName is the form of the words that name algorithms in RL.ALL; the server refuses those that it does not
// know.
var algorithmName = regexp.MustCompile(`^[A-Z]{2,7}$`)

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

// TestNumberTexts asks the server for the numbers that the clients read as programs print them: it keeps each as the
// decimal that it states.
func TestNumberTexts(t *testing.T) {
	text, err := os.ReadFile("../clients/vectors/numbers.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors struct {
		Rates, Durations map[string]string // the text, and the same without exponents
		Beyond           []string          `json:"rates_beyond"`
		NotRates         []string          `json:"not_rates"`
		NotDurations     []string          `json:"not_durations"`
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors.Rates) < 100 || len(vectors.Durations) < 50 || len(vectors.Beyond) < 50 {
		t.Fatalf("there are %d rates, %d durations and %d rates beyond the bounds", len(vectors.Rates), len(vectors.Durations), len(vectors.Beyond))
	}
	p := newPlayer(t)
	defer p.Close()
	ask := func(words ...string) string {
		t.Helper()
		var command [][]byte
		for _, word := range words {
			command = append(command, []byte(word))
		}
		reply, err := p.Do("", command, "")
		if err != nil {
			t.Fatal(err)
		}
		return reply
	}
	same := func(command, text, decimal string) {
		t.Helper()
		ask("FLUSHALL")
		for key, word := range map[string]string{"text": text, "decimal": decimal} {
			if reply := ask(command, key, "5", word); !strings.HasPrefix(reply, "[1 5 4 0 ") {
				t.Errorf("%s %q: %s", command, word, reply)
			}
		}
		if got, want := ask("RL.INFO", "text"), ask("RL.INFO", "decimal"); got != want {
			t.Errorf("%q is kept as %s, and %q as %s", text, got, decimal, want)
		}
	}
	for text, decimal := range vectors.Rates {
		same("TB.ACQUIRE", text, decimal)
	}
	for text, decimal := range vectors.Durations {
		same("FW.ACQUIRE", text, decimal)
	}
	for reason, refused := range map[string][]string{"above 0 and at most": vectors.Beyond, "must be a rate such as": vectors.NotRates} {
		for _, text := range refused {
			if reply := ask("TB.ACQUIRE", "k", "5", text); !strings.Contains(reply, reason) {
				t.Errorf("%q: %s", text, reply)
			}
		}
	}
	for _, text := range vectors.NotDurations {
		if reply := ask("FW.ACQUIRE", "k", "5", text); !strings.HasPrefix(reply, "-ERR window: must be a duration between") {
			t.Errorf("%q: %s", text, reply)
		}
	}
}

package limiter

import (
	"strings"
	"testing"

	"github.com/stintdb/stint/server/command"
)

// Every option after every limit is read or refused with an error that names it, whatever its value.
func TestEveryOptionOfEveryLimit(t *testing.T) {
	texts := map[string]string{"max_burst": "9", "count": "9", "period": "60", "capacity": "9", "rate": "1/s", "limit": "9", "window": "1d", "ttl": "1m",
		"min": "1/s", "max": "9/s", "rate_capacity": "9", "ceil_capacity": "9", "ceil": "9/s", "denials": "9", "ban": "1m"}
	for i := range limitSpecs {
		k := &limitSpecs[i]
		for _, option := range specOptions {
			for _, value := range []string{"1", "50%", "UTC", ""} {
				words := []string{"RL.ALL", "TB", "first", "9", "1/s"}
				if k.isAncestor {
					words = []string{"RL.ALL", "HT", "first", "9", "1/s", "9", "9/s"}
				}
				words = append(words, k.word, "k")
				for _, name := range k.params {
					words = append(words, texts[name])
				}
				if k.word == "FW" {
					words[len(words)-1] = "@day"
				}
				if k.who != "" {
					words = append(words, "who")
				}
				if words = append(words, option.Name); option.HasValue {
					words = append(words, value)
				}
				var r command.Request
				for _, word := range words {
					r.Args = append(r.Args, []byte(word))
				}
				r.Bounds = command.Bounds{MaxKeyBytes: 100, MaxLogLimit: 100}
				if err := parseAll(&r); err != nil && !strings.Contains(err.Error(), option.Name) && !strings.HasPrefix(err.Error(), "ERR UNDER") {
					t.Errorf("%s: %v", strings.Join(words, " "), err)
				}
			}
		}
	}
}

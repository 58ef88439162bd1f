package admin

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stintdb/stint/engine"
	"github.com/stintdb/stint/engine/database"
	"github.com/stintdb/stint/internal/bytetext"
	"github.com/stintdb/stint/server"
	"github.com/stintdb/stint/server/command/limiter"
	"github.com/stintdb/stint/server/topkeys"
)

// lookTimeout limits the search for the limits of keys, so that the page does not wait long for a group without a
// leader. Names that are not found in time come with a later look.
const lookTimeout = 250 * time.Millisecond

// limitsOf returns the limit that denied each key: the policy and its limit, or the limit that direct requests for the
// key came with. It is "" if the key is not shown as a whole, holds no limiter or has expired.
func limitsOf(ctx context.Context, s *server.Server, policies func() []policyKey, entries []topkeys.Entry) []string {
	names := make([]string, len(entries))
	var direct []int
	var ops []engine.Op
	for i, e := range entries {
		if !isWhole(e, s.Config().TopKeys) {
			continue
		}
		if names[i] = deniedBy(s, policies(), e.Key); names[i] == "" {
			direct = append(direct, i)
			ops = append(ops, engine.Op{Verb: engine.Look, Key: database.Append(nil, 0, e.Key)})
		}
	}
	if len(ops) == 0 {
		return names
	}
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	results, err := s.DecideReadOnly(ctx, ops)
	if err != nil {
		return names
	}
	for at, i := range direct {
		names[i] = directLimit(entries[i].Key, &results[at])
	}
	return names
}

// directLimit describes the limit of a key that belongs to no policy, such as "TB user:* 3 1/1m" for user:7. Keys with
// the same first part and the same limit have the same description, so that their denials can be added up.
func directLimit(key []byte, held *engine.Result) string {
	limit := held.Held
	limit.Algorithm = limit.Algorithm.Base()
	if held.Status != engine.OK || !limit.Algorithm.Decides() {
		return ""
	}
	word, params := limiter.LimitWords(limit)
	prefix := ""
	if before, _, has := strings.Cut(string(key), ":"); has {
		prefix = bytetext.Shown(before) + ":"
	}
	return strings.Join(slices.Concat([]string{word, prefix + "*"}, params), " ")
}

// isWhole reports whether an entry has the whole key in UTF-8, so that the page can ask for it.
func isWhole(e topkeys.Entry, mode string) bool {
	return mode == "plain" && len(e.Key) == e.Size && utf8.Valid(e.Key)
}

package persistence

import (
	"log/slog"

	"github.com/stintdb/stint/engine"
)

// namesLogged bounds the policies that one warning names.
const namesLogged = 20

// WarnOfLiteralNames logs a warning if policies are in the store whose {name} is text, because a version before named fields
// kept them: all callers may share their keys.
func WarnOfLiteralNames(store *engine.Store, log *slog.Logger) {
	names := store.LiteralNames()
	if len(names) == 0 {
		return
	}
	log.Warn("policies set before this version have braces that are not {}; they stay text and are no fields: look at the policies with RL.POLICY GET, and set them again if they are to have fields",
		"policies", names[:min(len(names), namesLogged)], "count", len(names))
}

package policy

import "github.com/stintdb/stint/engine"

// meetingParts returns the positions of two limits whose keys can be the same, or zeros.
func meetingParts(parts []part, of *engine.Op) (i, j int) {
	all := make([][]engine.Element, len(parts))
	for j := range parts {
		all[j] = parts[j].key.Elements(of.Who, of.Verb == engine.SetOverride)
		for i := range j {
			if engine.Meet(all[i], all[j]) {
				return i, j
			}
		}
	}
	return 0, 0
}

// MeetingKeys returns the keys of two limits of a SetPolicy or SetOverride that some callers or fields make one key,
// nil if there are none.
func MeetingKeys(o *engine.Op) (one, other []byte) {
	parts := newParts(o)
	if len(parts) == 0 || !parts[0].meets {
		return nil, nil
	}
	i, j := meetingParts(parts, o)
	return parts[i].key.Written(true), parts[j].key.Written(true)
}

package engine

// meetingParts returns the positions of two limits whose keys can be the same, or zeros.
func meetingParts(parts []part, of *Op) (i, j int) {
	all := make([][]element, len(parts))
	for j := range parts {
		all[j] = parts[j].key.elements(of.Who, of.Verb == SetOverride)
		for i := range j {
			if meet(all[i], all[j]) {
				return i, j
			}
		}
	}
	return 0, 0
}

// MeetingKeys returns the keys of two limits of a SetPolicy or SetOverride that some callers or fields make one key, nil if there are none.
func MeetingKeys(o *Op) (one, other []byte) {
	parts := newParts(o)
	if len(parts) == 0 || !parts[0].meets {
		return nil, nil
	}
	i, j := meetingParts(parts, o)
	return parts[i].key.written(true), parts[j].key.written(true)
}

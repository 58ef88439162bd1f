package resp

import "github.com/tidwall/redcon"

// Elements returns the elements of a reply, none if it is not an array.
func Elements(reply redcon.RESP) (all []redcon.RESP) {
	if reply.Type != redcon.Array {
		return nil
	}
	reply.ForEach(func(one redcon.RESP) bool {
		all = append(all, one)
		return true
	})
	return all
}

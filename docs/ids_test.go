package docs

import (
	"regexp"
	"testing"
)

var reservationID = regexp.MustCompile(`\bAS (\S+) FOR\b|"as": ?"([^"]+)"`)

// TestReservationIDs: a reader who tries one page after the other gets no error because an id was used for another
// request.
func TestReservationIDs(t *testing.T) {
	pages := map[string]string{}
	for _, p := range handbookPages(t) {
		for _, b := range p.blocks() {
			for _, found := range reservationID.FindAllStringSubmatch(b.text(), -1) {
				id := found[1] + found[2]
				if other, is := pages[id]; is && other != p.path {
					t.Errorf("%s: the id %s is also in %s", p.path, id, other)
				}
				pages[id] = p.path
			}
		}
	}
	if len(pages) < 8 {
		t.Errorf("only %d ids: %v", len(pages), pages)
	}
}

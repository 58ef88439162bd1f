package httpapi

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// cutField returns the field that a parameter is about, if its name begins with with. or with-header.
func cutField(name string) (field string, is bool) {
	prefix, field, is := strings.Cut(name, ".")
	return field, is && (prefix == "with" || prefix == "with-header")
}

// sortedFields lists the fields that a query gives values for.
func sortedFields(query url.Values) []string {
	found := map[string]bool{}
	for name := range query {
		if field, is := cutField(name); is {
			found[field] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

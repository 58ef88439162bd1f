package command

// For the tests of the whole table, which are outside this package because package all imports it.
const (
	LongestName = longestName
)

// GroupCategories are the ACL categories of groups.
func GroupCategories() (names []string) {
	for _, g := range groups {
		names = append(names, g.category)
	}
	return names
}

var (
	ParseSyntax = parseSyntax
	ArityOf     = arityOf
)

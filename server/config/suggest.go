package config

import "strings"

// renamed are names of redis.conf whose setting has another name in Stint.
var renamed = map[string]string{"port": "listen", "bind": "listen", "unixsocket": "listen", "loglevel": "log-level"}

// Suggest returns the name of the setting someone probably meant by an unknown name, or "".
func Suggest(name string) string {
	name = strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	if s, found := Lookup(name); found {
		return s.Name
	}
	if s, found := renamed[name]; found {
		return s
	}
	var names []string
	for i := range Settings {
		names = append(names, Settings[i].Name)
		if Settings[i].Redis != "" {
			names = append(names, Settings[i].Redis)
		}
	}
	if s, found := Lookup(Nearest(name, names)); found {
		return s.Name
	}
	return ""
}

// Nearest returns the candidate that word is a beginning of or a misspelling of, or "" if none is near: at most one
// letter in three may be wrong, missing, or too many.
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", len(word)/3+1
	for _, candidate := range candidates {
		distance := editDistance(word, candidate)
		if len(word) >= 3 && strings.HasPrefix(candidate, word) {
			distance = min(distance, 1)
		}
		if distance < bestDistance {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

// editDistance counts the insertions, deletions and replacements of bytes that lead from a to b (Levenshtein 1966),
// keeping one row of the usual table.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Package spelling finds the name that was meant by a misspelt one.
package spelling

import (
	"math/bits"
	"strings"
)

// Nearest returns the candidate that word is a beginning of or a misspelling of, or "" if none is near: at most one
// letter in three may be wrong, missing, or too many, or two be swapped. Of several equally near it is the first.
// Letters in upper and in lower case differ. The cost is a few microseconds for the 200 names of commands: clients can
// cause it.
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", len(word)/3+1
	for _, candidate := range candidates {
		if distance := distanceBelow(bestDistance, word, candidate); distance < bestDistance {
			best, bestDistance = candidate, distance
		}
	}
	return best
}

// distanceBelow is how far the candidate is from word, or limit if it is as far as that or farther.
func distanceBelow(limit int, word, candidate string) int {
	if len(word) >= 3 && strings.HasPrefix(candidate, word) {
		return min(limit, len(candidate)-len(word), 1)
	}
	if max(len(word)-len(candidate), len(candidate)-len(word), missing(word, candidate), missing(candidate, word)) >= limit {
		return limit
	}
	if isSwapped(word, candidate) {
		return min(limit, 1)
	}
	return min(limit, editDistance(word, candidate))
}

// isSwapped reports whether the words differ by two neighbouring letters that are swapped.
func isSwapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	return i+1 < len(a) && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}

// missing is how many different letters of a are not in b, at most: each needs an edit.
func missing(a, b string) int { return bits.OnesCount64(letters(a) &^ letters(b)) }

// SameLetters reports whether two words have the same letters, in any order and number: one may be the other with some
// letters swapped or doubled. Words must be of letters without accents, in lower case.
func SameLetters(a, b string) bool { return letters(a) == letters(b) }

// letters is the set of the bytes of a word; some share an element.
func letters(word string) (set uint64) {
	for i := range len(word) {
		set |= 1 << (word[i] % 64)
	}
	return set
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

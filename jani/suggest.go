package jani

import "strconv"

// Suggest returns the candidate that is closest to name by edit distance, if it is
// close enough to be a likely misspelling, else "". Ties go to the first.
// Time O(len(name) · total length of candidates).
func Suggest(name string, candidates []string) string {
	best, bestDistance := "", min(len(name)/3+2, len(name))
	for _, c := range candidates {
		if d := editDistance(name, c, bestDistance); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// DidYouMean renders Suggest as the hint of an error, "" if nothing is close.
func DidYouMean(name string, candidates []string) string {
	if s := Suggest(name, candidates); s != "" {
		return "did you mean " + strconv.Quote(s) + "?"
	}
	return ""
}

// editDistance is the number of insertions, deletions, substitutions and swaps of
// neighbours that turn a into b, or limit if it is not below.
func editDistance(a, b string, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := btoi(a[i-1] != b[j-1])
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return min(last[len(b)], limit)
}

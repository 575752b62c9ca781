package config

// nearest returns the candidate that word was probably meant to be, or nothing: the one with the fewest characters to
// insert, remove, replace or swap, if those are at most a third of it.
func nearest(word string, candidates []string) string {
	if len(word) > 64 {
		return ""
	}
	best, found := 0, ""
	for _, candidate := range candidates {
		d := distance([]rune(word), []rune(candidate))
		if d <= max(1, max(len(word), len(candidate))/3) && (found == "" || d < best) {
			best, found = d, candidate
		}
	}
	return found
}

// distance counts the insertions, removals, replacements and swaps of neighbours that turn a into b.
func distance(a, b []rune) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range b {
		rows[0][j+1] = j + 1
	}
	for i := range a {
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			d := min(rows[i][j+1]+1, rows[i+1][j]+1, rows[i][j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d = min(d, rows[i-1][j-1]+1)
			}
			rows[i+1][j+1] = d
		}
	}
	return rows[len(a)][len(b)]
}

//go:build drawbridge_no_dedupe

package dedupe

// guard switches the dedupe off: what is known is admitted once more. This build exists for the tests only. A test that
// counts doubled messages and finds none proves something only if it finds some when nothing holds them back; so the demo is
// run once with this tag and must see doubles. Order and conflicts are still kept, so that doubles are all it sees.
func guard(c Case, r Ruling) Ruling {
	if c.Close {
		return r
	}
	switch r {
	case Duplicate, Below, Again:
		if early(c) {
			return Early
		}
		return Admit
	}
	return r
}

//go:build !drawbridge_no_dedupe

package dedupe

// guard lets every ruling stand; see guard_off.go for the build in which it does not.
func guard(_ Case, r Ruling) Ruling { return r }

package api

// Log is what is logged now.
type Log struct {
	// Levels holds the level of each part: trace, debug, info, warn or error.
	Levels map[string]string `json:"levels"`
}

package spool

// Capabilities say what an engine lacks of what this package describes, so that nobody has to know it by its name.
type Capabilities struct {
	// Durable: what was stored outlives the store. If not, "durable" in this package means held until Close, and each opening
	// begins with nothing.
	Durable bool
}

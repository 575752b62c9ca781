package config

// leastMemory is what an agent needs beside its ledger. Below it the garbage collector would run without end, and messages
// would crawl.
const leastMemory = 32 << 20

// memoryLimit reads the bound of the process's memory. One that the ledger alone may fill is a mistake.
func (r *reader) memoryLimit(n node, c *Config) {
	r.size(n, &c.MemoryLimitBytes, leastMemory, 1<<50)
	least := uint64(c.LedgerMemoryBytes) + leastMemory
	if c.MemoryLimitBytes != 0 && c.MemoryLimitBytes < least {
		r.report(n.place, "%s is too little: the ledger may take %s (ledger_memory) and the agent needs %s beside it, want at least %s",
			FormatBytes(c.MemoryLimitBytes), FormatBytes(uint64(c.LedgerMemoryBytes)), FormatBytes(leastMemory), FormatBytes(least))
	}
}

package config

import "slices"

// keys are the words that one kind of mapping may hold.
type keys struct {
	// under says where such mappings stand.
	under string
	// known are read by this version, later are words of the contract that it does not act upon yet: accepting one silently
	// would promise what nobody keeps.
	known, later []string
	// example shows what a mapping of this kind looks like.
	example string
}

var (
	rootKeys = keys{
		under:   "the top level",
		known:   []string{"agent", "data_dir", "listen", "defaults", "queues", "links", "ledger_memory", "ledger_max_bytes", "ledger_max_window", "memory_limit", "log", "shutdown_grace"},
		later:   []string{"include", "epoch_retention"},
		example: "agent: fra-1",
	}
	listenKeys = keys{
		under:   "listen",
		known:   []string{"link", "api", "metrics", "metrics_token_file"},
		later:   []string{"token_file"},
		example: `link: "[::]:4747"`,
	}
	queueKeys = keys{
		under: "queues.NAME or defaults",
		known: []string{"visibility_timeout", "max_deliveries", "retry", "max_message_bytes", "dedupe", "engine"},
		later: []string{"ttl", "expire", "durability", "order", "max_bytes", "max_messages", "when_full",
			"dead_letter", "id_scope", "enabled"},
		example: "visibility_timeout: 30s",
	}
	// retryKeys are left out by home: first and max say nothing by themselves.
	retryKeys = keys{
		under:   "retry",
		known:   []string{"kind", "first", "max"},
		example: "kind: exponential, first: 1s, max: 5m",
	}
	linkKeys = keys{
		under:   "links.NAME",
		known:   []string{"peer_id", "peer_ids", "addresses", "send", "receive", "idle_heartbeat"},
		later:   []string{"enabled", "origins"},
		example: "peer_id: 3Q7K-…",
	}
	sendKeys = keys{
		under:   "links.NAME.send",
		known:   []string{"from", "to", "retry_for", "name"},
		later:   []string{"order", "dedupe"},
		example: "from: orders, to: orders",
	}
	receiveKeys = keys{
		under:   "links.NAME.receive",
		known:   []string{"to"},
		later:   []string{"max_bytes", "max_messages", "dedupe"},
		example: "to: orders",
	}
	logKeys = keys{
		under:   "log",
		known:   []string{"level", "format", "levels"},
		example: "level: info",
	}
	// levelKeys are the parts that are named by loggers; home leaves them out, because link is more often another key.
	levelKeys = keys{
		under:   "log.levels",
		known:   []string{"agent", "api", "link", "monitor", "spool"},
		example: "link: debug",
	}
)

// home says where a key belongs that stands in the wrong mapping, or nothing.
func home(key string) string {
	for _, k := range []keys{rootKeys, listenKeys, queueKeys, linkKeys, sendKeys, receiveKeys, logKeys} {
		if slices.Contains(k.known, key) {
			return k.under
		}
	}
	return ""
}

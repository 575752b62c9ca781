package config

import (
	"fmt"
	"strconv"
	"strings"
)

// Sample returns a commented file to begin with. It is valid as it stands; the link is an example in comments, because only
// the operator knows the peer.
func Sample(agent string, paths Paths) string {
	return fmt.Sprintf(sample, scalarText(agent), scalarText(paths.DataDir), scalarText(paths.API))
}

// scalarText writes text so that reading gives it back, whatever it holds.
func scalarText(text string) string {
	plain := strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/") == ""
	if plain && text != "" && text[0] != '-' && text[0] != '.' {
		return text
	}
	return strconv.Quote(strings.ReplaceAll(text, "$", "$$"))
}

const sample = `# The configuration of one drawbridge agent. "drawbridge config check" tells every mistake in it, "drawbridge run" starts it.
# Durations: 30s, 5m, 72h, 1d12h, 2w. Sizes: 512B, 64KiB, 1MiB, 2GiB. A value may hold ${VARIABLE} or ${VARIABLE:-default}.

# The name that messages stored here carry for good. Each agent has its own.
agent: %s

# Where the queues and this agent's identity lie. One agent has one directory.
data_dir: %s

listen:
  # The UDP port for other agents. Without it this agent only dials. "[::]:4747" listens on all addresses, IPv4 and IPv6.
  # link: "[::]:4747"

  # The Unix socket for local programs and for this command line.
  api: %s

  # Where metrics and health are told, read-only. Another address than a loopback one needs metrics_token_file.
  # metrics: 127.0.0.1:4781
  # metrics_token_file: /etc/drawbridge/metrics.token

# What holds for every queue that does not say otherwise.
defaults:
  # How long a consumer may keep a message before it is handed out again.
  visibility_timeout: 30s
  # How often a message is handed to local consumers before it becomes a dead letter, a number or unlimited, and how long it waits when a
  # consumer gives it back: none, fixed, linear or exponential, as a word or with the first wait and the longest.
  # max_deliveries: 5
  # retry: { kind: exponential, first: 1s, max: 5m }
  # max_message_bytes: 1MiB
  # What keeps a message that arrives twice out: its number, or its id where it may come over two routes.
  # dedupe: numbers
  # bolt keeps messages on disk. memory forgets all with a restart, and no link may name such a queue.
  # engine: bolt

queues:
  # Messages that go to the other host. A queue with a route gives nothing to local consumers.
  orders: {}
  # Messages that come from the other host.
  refunds: { visibility_timeout: 2m }

# One entry per peer. Put the two hosts' entries side by side: what one sends, the other must receive.
# links:
#   nyc:
#     # What "drawbridge identity show" prints on the other host.
#     peer_id: ABCD-EFGH-IJKL-MNOP-QRST-UVWX-YZ23-4567-ABCD-EFGH-IJKL-MNOP-QRSA
#     # Where to dial it. Without addresses this side waits to be dialled, and needs listen.link.
#     addresses: [nyc-1.example.net:4747, 203.0.113.9:4747]
#     # Our queue, the queue there, and how long one message may be retried. Without retry_for: without end.
#     send:
#       - { from: orders, to: orders, retry_for: 72h }
#     # Our queues that the peer may put messages into.
#     receive:
#       - { to: refunds }

# The memory that holds the ids of what was accepted lately, and what of the spool may remember them. At either bound the
# oldest ids are forgotten early; "links" shows for how long ids are known. A peer that may retry for longer than the longest
# window is refused where a queue goes by ids.
# ledger_memory: 64MiB
# ledger_max_bytes: 1GiB
# ledger_max_window: 30d

# What the whole process tries not to exceed, by collecting garbage more often. Default: no limit. GOMEMLIMIT in the
# environment goes before it.
# memory_limit: 256MiB

# log:
#   level: info     # trace, debug, info, warn, error
#   format: text    # text, json
#   # Levels of single parts: agent, api, link, monitor, spool. "drawbridge log" changes them while the agent runs.
#   levels: { link: debug, spool: warn }

# How long SIGTERM lets messages on the way be answered.
# shutdown_grace: 30s
`

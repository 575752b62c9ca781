package config_test

import "testing"

// Each file has a key or a value that is wrong by itself.
func TestWrongKeysAndValuesAreTold(t *testing.T) {
	requireProblems(t, []badFile{
		{"unknown key", `agent: a
queus: {}`, []string{
			`2:1 queus: unknown key, allowed here: agent, data_dir, listen, defaults, queues, links, ledger_memory, ledger_max_bytes, ledger_max_window, memory_limit, log, shutdown_grace -> queues`,
		}},
		{"unknown key, nothing near", `agent: a
log: {colour: blue}`, []string{
			`2:7 log.colour: unknown key, allowed here: level, format, levels`,
		}},
		{"key in the wrong place", `agent: a
log: {retry_for: 3s}`, []string{
			`2:7 log.retry_for: unknown key here, it belongs under links.NAME.send; allowed here: level, format, levels`,
		}},
		{"key given twice", `agent: a
queues: {orders: {}, refunds: {}, orders: {}}
agent: b`, []string{
			`2:35 queues.orders: given twice, first in line 2`,
			`3:1 agent: given twice, first in line 1`,
		}},
		{"keys of later versions", `agent: a
include: links.d/*.yaml
listen: {token_file: /t}
queues: {orders: {ttl: 1d, max_bytes: 2GiB, max_messages: 5, order: fifo, id_scope: global}}`, []string{
			`2:1 include: not supported by this version yet`,
			`3:10 listen.token_file: not supported by this version yet`,
			`4:19 queues.orders.ttl: not supported by this version yet`,
			`4:28 queues.orders.max_bytes: not supported by this version yet`,
			`4:45 queues.orders.max_messages: not supported by this version yet`,
			`4:62 queues.orders.order: not supported by this version yet`,
			`4:75 queues.orders.id_scope: not supported by this version yet`,
		}},
		{"key of a later version, mistyped", `agent: a
queues: {orders: {max_byte: 5}}`, []string{
			`2:19 queues.orders.max_byte: unknown key, allowed here: visibility_timeout, max_deliveries, retry, max_message_bytes, dedupe, engine -> max_bytes`,
		}},
		{"no value", `agent:
data_dir: ~`, []string{
			`1:1 agent: has no value; give it one or remove the key`,
			`2:11 data_dir: has no value; give it one or remove the key`,
		}},
		{"empty value", `agent: ""`, []string{
			`1:8 agent: is empty; give it a value or remove the key`,
		}},
		{"list where a value belongs", `agent: [a]`, []string{
			`1:8 agent: want a single value, got a list`,
		}},
		{"mapping where a value belongs", `agent: {name: a}`, []string{
			`1:8 agent: want a single value, got a mapping`,
		}},
		{"value where a mapping belongs", `agent: a
listen: 4747`, []string{
			"2:9 listen: want a mapping such as `link: \"[::]:4747\"`, got a single value",
		}},
		{"list where a mapping belongs", `agent: a
queues: [orders]`, []string{
			"2:9 queues: want a mapping such as `orders: {}`, got a list",
		}},
		{"mapping where a list belongs", `agent: a
queues: {o: {}}
links: {nyc: {PEER_A, addresses: [h:1], send: {from: o, to: o}}}`, []string{
			"3:114 links.nyc.send: want a list such as `[{from: orders, to: orders}]`, got a mapping",
		}},
		{"value where a list belongs", `agent: a
queues: {o: {}}
links: {nyc: {PEER_A, addresses: h:1, receive: [o]}}`, []string{
			"3:101 links.nyc.addresses: want a list such as `[nyc-1.example.net:4747]`, got a single value",
			"3:116 links.nyc.receive[0]: want a mapping such as `to: orders`, got a single value",
		}},
		{"agent's name", `agent: fra 1`, []string{
			`1:8 agent: agent name "fra 1": not allowed, use 1 to 64 letters, digits and . _ - and begin with a letter or digit`,
		}},
		{"relative path", `agent: a
data_dir: data`, []string{
			`2:11 data_dir: "data" is not an absolute path, begin it with /`,
		}},
		{"tilde", `agent: a
data_dir: ~/drawbridge`, []string{
			`2:11 data_dir: "~/drawbridge" is not an absolute path, ~ is a word of the shell -> ${HOME}/drawbridge`,
		}},
		{"socket path too long", `agent: a
listen: {api: /sssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss}`, []string{
			`2:15 listen.api: the path /sssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssssss… has 108 bytes, a Unix socket takes at most 107`,
		}},
		{"TCP for the API", `agent: a
listen: {api: "127.0.0.1:4780"}`, []string{
			`2:15 listen.api: a TCP address is not supported by this version yet, want the absolute path of a Unix socket`,
		}},
		{"listen without port", `agent: a
listen: {link: "::"}`, []string{
			`2:16 listen.link: "::" has no port, write [::]:4747`,
		}},
		{"listen on a bad port", `agent: a
listen: {link: ":70000"}`, []string{
			`2:16 listen.link: ":70000": the port must be a number from 1 to 65535`,
		}},
		{"listen on no host", `agent: a
listen: {link: "300.1.2.3:4747"}`, []string{
			`2:16 listen.link: "300.1.2.3:4747": "300.1.2.3" is neither an IP address nor a host's name`,
		}},
		{"metrics for everybody", `agent: a
listen: {metrics: ":4781"}`, []string{
			`2:19 listen.metrics: :4781 can be reached from other machines: use 127.0.0.1, or set metrics_token_file`,
		}},
		{"metrics at a name", `agent: a
listen: {metrics: "localhost:4781"}`, []string{
			`2:19 listen.metrics: localhost:4781 can be reached from other machines: use 127.0.0.1, or set metrics_token_file`,
		}},
		{"metrics without port", `agent: a
listen: {metrics: 127.0.0.1}`, []string{
			`2:19 listen.metrics: "127.0.0.1" has no port, write 127.0.0.1:4747`,
		}},
		{"token of nothing", `agent: a
listen: {metrics_token_file: /etc/drawbridge/token}`, []string{
			`2:30 listen.metrics_token_file: there is no listen.metrics that could ask for the token`,
		}},
		{"token beside the agent", `agent: a
listen: {metrics: "0.0.0.0:4781", metrics_token_file: token}`, []string{
			`2:55 listen.metrics_token_file: "token" is not an absolute path, begin it with /`,
		}},
		{"bare number", `agent: a
shutdown_grace: 30`, []string{
			`2:17 shutdown_grace: 30 has no unit, write 30s for seconds; units are w, d, h, m, s, ms`,
		}},
		{"negative duration", `agent: a
queues: {orders: {visibility_timeout: -5s}}`, []string{
			`2:39 queues.orders.visibility_timeout: -5s is negative, want a duration such as 30s`,
		}},
		{"unknown unit", `agent: a
shutdown_grace: 3min`, []string{
			`2:17 shutdown_grace: "3min" is not a duration, write one such as 30s, 72h or 1d12h; units are w, d, h, m, s, ms`,
		}},
		{"duration out of range", `agent: a
shutdown_grace: 2h
defaults: {visibility_timeout: 0s}`, []string{
			`2:17 shutdown_grace: 2h is out of range, want 0s to 1h`,
			`3:32 defaults.visibility_timeout: 0s is out of range, want 1ms to 5200w`,
		}},
		{"size without unit", `agent: a
ledger_memory: 1048576`, []string{
			`2:16 ledger_memory: 1048576 has no unit, write 1048576B for bytes; units are B, KiB, MiB, GiB`,
		}},
		{"size in thousands", `agent: a
ledger_memory: 64MB`, []string{
			`2:16 ledger_memory: "64MB" is not a size, write 64MiB; units are B, KiB, MiB, GiB`,
		}},
		{"size out of range", `agent: a
ledger_memory: 64KiB
defaults: {max_message_bytes: 2MiB}`, []string{
			`2:16 ledger_memory: 64KiB is out of range, want 1MiB to 1024GiB`,
			`3:31 defaults.max_message_bytes: 2MiB is out of range, want 1B to 1MiB`,
		}},
		{"ledger on disk that holds less than a commit", `agent: a
ledger_max_bytes: 15MiB`, []string{
			`2:19 ledger_max_bytes: 15MiB is out of range, want 16MiB to 1024GiB`,
		}},
		{"size of nothing", `agent: a
ledger_memory: much`, []string{
			`2:16 ledger_memory: "much" is not a size, write one such as 512B, 64KiB, 16MiB or 2GiB`,
		}},
		{"word not allowed", `agent: a
log: {level: wran, format: xml}`, []string{
			`2:14 log.level: "wran" is not allowed, want one of: trace, debug, info, warn, error -> warn`,
			`2:28 log.format: "xml" is not allowed, want one of: text, json`,
		}},
		{"queue's name", `agent: a
queues: {Orders: {}, orders.dead: {}}`, []string{
			`2:10 queues.Orders: queue name "Orders": not allowed, use 1 to 120 of a-z 0-9 . _ - and begin with a letter or digit`,
			`2:22 queues."orders.dead": queue name "orders.dead": not allowed, the suffix .dead is reserved for dead letters`,
		}},
		{"variable not set", `agent: ${NAME}`, []string{
			`1:8 agent: the environment variable NAME is not set; ${NAME:-VALUE} gives a default`,
		}},
		{"variable without braces", `agent: $NAME`, []string{
			`1:8 agent: write ${NAME} for the environment variable, or $$ for a dollar`,
		}},
		{"lone dollar", `agent: a$`, []string{
			`1:8 agent: "$": a dollar begins ${VARIABLE}; write $$ for a dollar`,
		}},
		{"variable in brackets", `agent: a
log: {level: ${LEVEL}}`, []string{
			`2:15 : not YAML: inside { } and [ ] a ${VARIABLE} needs quotes`,
		}},
		{"variable in a default", `agent: "${A:-${B}}"`, []string{
			`1:8 agent: the default of ${A} holds another variable, which is not supported`,
		}},
	})
}

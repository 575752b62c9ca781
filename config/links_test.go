package config_test

import "testing"

// Each file has a link that is wrong by itself or contradicts another part.
func TestContradictionsAreTold(t *testing.T) {
	requireProblems(t, []badFile{
		{"link's name", `agent: a
queues: {o: {}}
links: {New York: {PEER_A, addresses: [h:1], receive: [{to: o}]}}`, []string{
			`3:9 links."New York": link name "New York": not allowed, use 1 to 120 of a-z 0-9 . _ - and begin with a letter or digit, and do not end in .dead`,
		}},
		{"empty link", `agent: a
links:
  nyc:`, []string{
			"3:3 links.nyc: peer_id is missing; the other host prints it with `drawbridge identity show`",
			`3:3 links.nyc: neither send nor receive is given: nothing would ever pass`,
			`3:3 links.nyc: no addresses to dial and no listen.link to be dialled at: neither side could ever connect`,
		}},
		{"nobody can connect", `agent: a
queues: {o: {}}
links: {nyc: {PEER_A, receive: [{to: o}]}}`, []string{
			`3:9 links.nyc: no addresses to dial and no listen.link to be dialled at: neither side could ever connect`,
		}},
		{"peer_id and peer_ids", `agent: a
queues: {o: {}}
links: {nyc: {PEER_A, peer_ids: [], addresses: [h:1], receive: [{to: o}]}}`, []string{
			`3:100 links.nyc.peer_ids: peer_id and peer_ids are both given, write all identities in peer_ids`,
		}},
		{"three identities", `agent: a
queues: {o: {}}
links: {nyc: {peer_ids: [a, b, c], addresses: [h:1], receive: [{to: o}]}}`, []string{
			`3:25 links.nyc.peer_ids: 3 identities, want one, or two while the peer changes its key`,
			"3:26 links.nyc.peer_ids[0]: identity \"a\": want 52 characters of A-Z and 2-7, as printed by `drawbridge identity show`",
			"3:29 links.nyc.peer_ids[1]: identity \"b\": want 52 characters of A-Z and 2-7, as printed by `drawbridge identity show`",
			"3:32 links.nyc.peer_ids[2]: identity \"c\": want 52 characters of A-Z and 2-7, as printed by `drawbridge identity show`",
		}},
		{"one identity, two links", `agent: a
queues: {o: {}}
links:
  nyc: {PEER_A, addresses: [h:1], receive: [{to: o}]}
  ams: {PEER_LOWER, addresses: [h:2], receive: [{to: o}]}`, []string{
			`5:18 links.ams.peer_id: the same identity as links.nyc.peer_id in line 4; one peer has one link`,
		}},
		{"addresses", `agent: a
listen: {link: h:7}
queues: {o: {}}
links: {nyc: {PEER_A, addresses: [h, H:1, h:1, h:7, "0.0.0.0:1", "udp://h:1", "2001:db8::1"], receive: [{to: o}]}}`, []string{
			`4:102 links.nyc.addresses[0]: "h" has no port, write h:4747`,
			`4:110 links.nyc.addresses[2]: the same address as links.nyc.addresses[1] in line 4`,
			`4:115 links.nyc.addresses[3]: this is the agent's own listen.link, give the peer's address`,
			`4:120 links.nyc.addresses[4]: 0.0.0.0 is no address of a peer, it means every address of a machine that listens`,
			`4:133 links.nyc.addresses[5]: "udp://h:1" is not an address, want host:port such as nyc-1.example.net:4747 or [2001:db8::1]:4747`,
			`4:146 links.nyc.addresses[6]: "2001:db8::1" has no port, write [2001:db8::1]:4747`,
		}},
		{"queues that are not there", `agent: a
queues: {orders: {}}
links: {nyc: {PEER_A, addresses: [h:1], send: [{from: ordres, to: x}], receive: [{to: y}]}}`, []string{
			"3:122 links.nyc.send[0].from: there is no queue \"ordres\" under `queues`, which holds: orders -> orders",
			"3:154 links.nyc.receive[0].to: there is no queue \"y\" under `queues`, which holds: orders",
		}},
		{"missing from and to", `agent: a
queues: {o: {}}
links: {nyc: {PEER_A, addresses: [h:1], send: [{retry_for: 1h}], receive: [{}]}}`, []string{
			"3:115 links.nyc.send[0]: from is missing, write one such as `from: orders`",
			"3:115 links.nyc.send[0]: to is missing, write one such as `to: orders`",
			"3:143 links.nyc.receive[0]: to is missing, write one such as `to: orders`",
		}},
		{"a queue with two routes", `agent: a
queues: {o: {}}
links:
  nyc: {PEER_A, addresses: [h:1], send: [{from: o, to: o}]}
  ams: {PEER_B, addresses: [h:2], send: [{from: o, to: o}]}`, []string{
			`5:116 links.ams.send[0].from: queue "o" leaves already by links.nyc.send[0].from in line 4; in this version a queue has one route`,
		}},
		{"two routes of one name", `agent: a
queues: {o: {}, p: {}}
links:
  nyc: {PEER_A, addresses: [h:1], send: [{from: o, to: all}, {from: p, to: all}]}`, []string{
			"4:129 links.nyc.send[1]: the route's name \"nyc/all\" is that of links.nyc.send[0] in line 4; give each an own `name`",
		}},
		{"route's name", `agent: a
queues: {o: {}}
links:
  nyc: {PEER_A, addresses: [h:1], send: [{from: o, to: o, name: nyc/o}]}`, []string{
			`4:132 links.nyc.send[0].name: route name "nyc/o": not allowed, use 1 to 120 of a-z 0-9 . _ - and begin with a letter or digit`,
		}},
		{"route's default name too long", `agent: a
queues: {o: {}}
links:
  nyc: {PEER_A, addresses: [h:1], send: [{from: o, to: qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq}]}
  ams-ssssssssssssssssssss: {PEER_B, addresses: [h:2], send: [{from: o, to: qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq}]}`, []string{
			"5:130 links.ams-ssssssssssssssssssss.send[0]: the route's name ams-ssssssssssssssssssss/qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq… has more than 128 bytes, give it one with `name`",
			`5:137 links.ams-ssssssssssssssssssss.send[0].from: queue "o" leaves already by links.nyc.send[0].from in line 4; in this version a queue has one route`,
		}},
		{"a right given twice", `agent: a
queues: {o: {}}
links: {nyc: {PEER_A, addresses: [h:1], receive: [{to: o}, {to: o}]}}`, []string{
			`3:132 links.nyc.receive[1].to: queue "o" is given already by links.nyc.receive[0].to in line 3`,
		}},
		{"a loop", `agent: a
queues: {o: {}}
links: {nyc: {PEER_A, addresses: [h:1], send: [{from: o, to: x}], receive: [{to: o}]}}`, []string{
			`3:149 links.nyc.receive[0].to: queue "o" is sent back to the same peer by links.nyc.send[0].from in line 3: its messages would go in a loop`,
		}},
		{"retry_for and idle_heartbeat", `agent: a
queues: {o: {}}
links: {nyc: {PEER_A, addresses: [h:1], idle_heartbeat: 1h, send: [{from: o, to: x, retry_for: -1h}]}}`, []string{
			`3:124 links.nyc.idle_heartbeat: 1h is out of range, want 100ms to 1m`,
			`3:163 links.nyc.send[0].retry_for: -1h is negative, want a duration such as 30s`,
		}},
	})
}

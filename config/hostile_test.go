package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"drawbridge/config"
)

// lines returns the problems of a file in the form of badFile.want.
func lines(t *testing.T, src string) (got []string) {
	t.Helper()
	_, err := config.Parse("f.yaml", []byte(src), nothingSet)
	var problems config.Errors
	if !errors.As(err, &problems) {
		t.Fatalf("%.200q: got %v, want problems", src, err)
	}
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%d:%d %s: %s", p.Line, p.Column, p.Path, p.Text))
	}
	return got
}

// Each key gets each kind of value that it cannot have. VALUE stands where the value does.
func TestEveryKeyTellsOfAValueOfTheWrongKind(t *testing.T) {
	const (
		noValue = "has no value; give it one or remove the key"
		noText  = "is empty; give it a value or remove the key"
		single  = "want a single value, got "
	)
	scalar := map[string]string{"~": noValue, `""`: noText, "[x]": single + "a list", "{x: y}": single + "a mapping"}
	mapping := func(example string) map[string]string {
		want := "want a mapping such as `" + example + "`, got "
		return map[string]string{"7": want + "a single value", "[x]": want + "a list", `""`: want + "a single value"}
	}
	list := func(example string) map[string]string {
		want := "want a list such as `" + example + "`, got "
		return map[string]string{"7": want + "a single value", "{x: y}": want + "a mapping", `""`: want + "a single value"}
	}
	link := func(body string) string { return "links: {n: {" + body + "}}" }
	for _, key := range []struct {
		path, src string
		wrong     map[string]string
	}{
		{"agent", "agent: VALUE", scalar},
		{"data_dir", "data_dir: VALUE", scalar},
		{"listen", "listen: VALUE", mapping(`link: "[::]:4747"`)},
		{"listen.link", "listen: {link: VALUE}", scalar},
		{"listen.api", "listen: {api: VALUE}", scalar},
		{"listen.metrics", "listen: {metrics: VALUE}", scalar},
		{"listen.metrics_token_file", "listen: {metrics_token_file: VALUE}", scalar},
		{"defaults", "defaults: VALUE", mapping("visibility_timeout: 30s")},
		{"defaults.visibility_timeout", "defaults: {visibility_timeout: VALUE}", scalar},
		{"defaults.max_message_bytes", "defaults: {max_message_bytes: VALUE}", scalar},
		{"defaults.dedupe", "defaults: {dedupe: VALUE}", scalar},
		{"queues", "queues: VALUE", mapping("orders: {}")},
		{"queues.o", "queues: {o: VALUE}", mapping("visibility_timeout: 30s")},
		{"queues.o.visibility_timeout", "queues: {o: {visibility_timeout: VALUE}}", scalar},
		{"queues.o.max_message_bytes", "queues: {o: {max_message_bytes: VALUE}}", scalar},
		{"queues.o.dedupe", "queues: {o: {dedupe: VALUE}}", scalar},
		{"queues.o.max_deliveries", "queues: {o: {max_deliveries: VALUE}}", scalar},
		{"queues.o.retry", "queues: {o: {retry: VALUE}}", map[string]string{
			"~": noValue, `""`: noText, "[x]": "want a word or a mapping such as `{ kind: exponential, first: 1s, max: 5m }`, got a list",
		}},
		{"queues.o.retry.kind", "queues: {o: {retry: {kind: VALUE}}}", scalar},
		{"queues.o.retry.first", "queues: {o: {retry: {first: VALUE}}}", scalar},
		{"queues.o.retry.max", "queues: {o: {retry: {max: VALUE}}}", scalar},
		{"links", "links: VALUE", mapping("nyc: {peer_id: 3Q7K-…, send: [{from: orders, to: orders}]}")},
		{"links.n", "links: {n: VALUE}", mapping("peer_id: 3Q7K-…")},
		{"links.n.peer_id", link("peer_id: VALUE"), scalar},
		{"links.n.peer_ids", link("peer_ids: VALUE"), list("[3Q7K-…, 5RWD-…]")},
		{"links.n.peer_ids[0]", link("peer_ids: [VALUE]"), scalar},
		{"links.n.addresses", link("addresses: VALUE"), list("[nyc-1.example.net:4747]")},
		{"links.n.addresses[0]", link("addresses: [VALUE]"), scalar},
		{"links.n.idle_heartbeat", link("idle_heartbeat: VALUE"), scalar},
		{"links.n.send", link("send: VALUE"), list("[{from: orders, to: orders}]")},
		{"links.n.send[0]", link("send: [VALUE]"), mapping("from: orders, to: orders")},
		{"links.n.send[0].from", link("send: [{from: VALUE}]"), scalar},
		{"links.n.send[0].to", link("send: [{to: VALUE}]"), scalar},
		{"links.n.send[0].retry_for", link("send: [{retry_for: VALUE}]"), scalar},
		{"links.n.send[0].name", link("send: [{name: VALUE}]"), scalar},
		{"links.n.receive", link("receive: VALUE"), list("[{to: orders}]")},
		{"links.n.receive[0]", link("receive: [VALUE]"), mapping("to: orders")},
		{"links.n.receive[0].to", link("receive: [{to: VALUE}]"), scalar},
		{"ledger_memory", "ledger_memory: VALUE", scalar},
		{"ledger_max_bytes", "ledger_max_bytes: VALUE", scalar},
		{"ledger_max_window", "ledger_max_window: VALUE", scalar},
		{"memory_limit", "memory_limit: VALUE", scalar},
		{"log", "log: VALUE", mapping("level: info")},
		{"log.level", "log: {level: VALUE}", scalar},
		{"log.format", "log: {format: VALUE}", scalar},
		{"log.levels", "log: {levels: VALUE}", mapping("link: debug")},
		{"log.levels.link", "log: {levels: {link: VALUE}}", scalar},
		{"shutdown_grace", "shutdown_grace: VALUE", scalar},
	} {
		for value, text := range key.wrong {
			want := fmt.Sprintf("1:%d %s: %s", 1+strings.Index(key.src, "VALUE"), key.path, text)
			if got := lines(t, strings.Replace(key.src, "VALUE", value, 1)+"\n"); !slices.Contains(got, want) {
				t.Errorf("%s = %s: got\n\t%s\nwant\n\t%s", key.path, value, strings.Join(got, "\n\t"), want)
			}
		}
	}
}

func TestBytesThatAreNoConfigurationAreTold(t *testing.T) {
	const nothing = "0:0 : the file is empty; `drawbridge init` writes one to begin with"
	const agentName = ": not allowed, use 1 to 64 letters, digits and . _ - and begin with a letter or digit"
	requireProblems(t, []badFile{
		{"a byte order mark alone", "\ufeff", []string{nothing}},
		{"line ends", "\r\n\n\r", []string{nothing}},
		{"a tab", "\t", []string{nothing}},
		{"a document without content", "---\n...\n", []string{nothing}},
		{"null", "~", []string{"1:1 : want lines of the form `key: value`, got nothing"}},
		{"byte order mark and a mistake", "\ufeffagent: a\nlog: {level: loud}", []string{
			`2:14 log.level: "loud" is not allowed, want one of: trace, debug, info, warn, error`}},
		{"CRLF and a mistake", "agent: a\r\nlog:\r\n  level: loud\r\n", []string{
			`3:10 log.level: "loud" is not allowed, want one of: trace, debug, info, warn, error`}},
		{"a program", "\x7fELF\x02\x01\x01\x00", []string{`1:1 : control character U+007F is not allowed`}},
		{"an archive", "PK\x03\x04", []string{`1:3 : control character U+0003 is not allowed`}},
		{"compressed", "\x1f\x8b\x08\x00", []string{`1:1 : control character U+001F is not allowed`}},
		{"UTF-16, big end first", "\xfe\xff\x00a", []string{`0:0 : the file is UTF-16, save it as UTF-8`}},
		{"UTF-16 without a mark", "a\x00g\x00", []string{`1:2 : control character U+0000 is not allowed`}},
		{"half a character", "agent: \xc3", []string{`1:8 : byte 0xc3 is not UTF-8`}},
		{"an escape of a terminal", "agent: a\x1b[2J", []string{`1:9 : control character U+001B is not allowed`}},
		{"a space that is none", "agent: a\u00a0", []string{`1:8 agent: agent name "a\u00a0"` + agentName}},
		{"a zero byte, escaped", `agent: "\x00"`, []string{`1:8 agent: agent name "\x00"` + agentName}},
		{"text that turns around", `agent: "\u202e"`, []string{`1:8 agent: agent name "\u202e"` + agentName}},
		{"several lines for one name", "agent: |\n  a\n  b\n", []string{`1:8 agent: agent name "a\nb\n"` + agentName}},
		{"a name of 65 bytes", "agent: " + strings.Repeat("a", 65), []string{`1:8 agent: agent name "` + strings.Repeat("a", 65) + `"` + agentName}},
		{"a path for a name", "agent: ../a", []string{`1:8 agent: agent name "../a"` + agentName}},
		{"a tab before a key", "agent: a\n\tlog: {}", []string{`2:1 : a tab in the indentation, YAML indents with spaces`}},
		{"a tab in braces", "agent: a\nlog: {\tlevel: loud}", []string{`2:12 : not YAML: tab character cannot use as a map key directly`}},
		{"an unknown escape", `agent: "\q"`, []string{`1:10 : not YAML: found unknown escape character 'q'`}},
		{"a reserved sign", "agent: @a", []string{`1:8 : not YAML: '@' is a reserved character`}},
		{"two colons", "agent: a: b", []string{`1:8 : not YAML: mapping value is not allowed in this context`}},
		{"a list behind a key", "agent: - a", []string{`1:8 : not YAML: block sequence entries are not allowed in this context`}},
		{"an alias of nothing", "agent: *x", []string{`1:8 agent: aliases (*) are not supported, write the value here`}},
		{"a merge of nothing", "<<: *x", []string{"1:1 : merging (<<) is not supported; what all queues share stands in `defaults`"}},
		{"a tag on the whole", "!!map {agent: a}", []string{`1:1 : tags (!) are not supported, write the value alone`}},
		{"a tag on a number", "agent: !!int 7", []string{`1:8 agent: tags (!) are not supported, write the value alone`}},
		{"an alias as a key", "*a : b", []string{`1:1 : a key must be a plain word`}},
		{"a list as a key", "[a]: b", []string{`1:4 : not YAML: found an invalid key for this map`}},
		{"a mapping as a key", "{agent: a}: b", []string{`1:11 : not YAML: found an invalid key for this map`}},
		{"a document behind an end", "agent: a\n...\nlog: {level: loud}", []string{
			`3:1 : the file holds a second document; write everything in one, without ---`}},
		{"a document behind an empty one", "agent: a\n---\n---\nagent: b", []string{
			`2:1 : the file holds a second document; write everything in one, without ---`}},
		{"an empty document behind", "---\nagent: a\n---\n", []string{
			`3:1 : the file holds a second document; write everything in one, without ---`}},
		{"lists in lists", strings.Repeat("- ", 30) + "a", []string{`1:41 : not YAML: nested deeper than 20`}},
		{"braces in braces", strings.Repeat("{", 21), []string{`1:21 : not YAML: nested deeper than 20`}},
		{"tags on tags", strings.Repeat("!a ", 30) + "a", []string{`1:41 : not YAML: nested deeper than 20`}},
		{"keys in keys", strings.Repeat("? ", 30) + "a", []string{`1:41 : not YAML: nested deeper than 20`}},
		{"a hundred thousand brackets", strings.Repeat("[", 100_000), []string{`1:50001 : not YAML: more than 50000 words and signs`}},
		{"a word of a megabyte", strings.Repeat("a", 1<<20), []string{"1:1 : want lines of the form `key: value`, got a single value"}},
		{"a byte more", strings.Repeat("a", 1<<20+1), []string{`0:0 : the file is larger than 1MiB`}},
	})
}

func TestValuesThatAreHostileAreTold(t *testing.T) {
	const duration = "is not a duration, write one such as 30s, 72h or 1d12h; units are w, d, h, m, s, ms"
	const size = "is not a size, write one such as 512B, 64KiB, 16MiB or 2GiB"
	const queue = "not allowed, use 1 to 120 of a-z 0-9 . _ - and begin with a letter or digit"
	const dollar = ": a dollar begins ${VARIABLE}; write $$ for a dollar"
	a := "agent: a\n"
	link := func(body string) string { return a + "queues: {o: {}}\nlinks: {n: {" + body + "}}" }
	requireProblems(t, []badFile{
		{"an exponent", a + "shutdown_grace: 1e9", []string{`2:17 shutdown_grace: "1e9" ` + duration}},
		{"not a number", a + "shutdown_grace: .nan", []string{`2:17 shutdown_grace: ".nan" ` + duration}},
		{"a sign", a + "shutdown_grace: +5s", []string{`2:17 shutdown_grace: "+5s" ` + duration}},
		{"a space before the unit", a + "shutdown_grace: 5 s", []string{`2:17 shutdown_grace: "5 s" ` + duration}},
		{"one unit twice", a + "shutdown_grace: 1h1h", []string{`2:17 shutdown_grace: "1h1h" ` + duration}},
		{"longer than time", a + "shutdown_grace: 99999999999999999999s", []string{
			`2:17 shutdown_grace: 99999999999999999999s is too long, at most about 292 years can be told`}},
		{"a month", a + "ledger_max_window: 1y", []string{`2:20 ledger_max_window: "1y" ` + duration}},
		{"a window too short", a + "ledger_max_window: 59m", []string{`2:20 ledger_max_window: 59m is out of range, want 1h to 5200w`}},
		{"no size at all", a + "ledger_memory: 0B", []string{`2:16 ledger_memory: 0B is out of range, want 1MiB to 1024GiB`}},
		{"a negative size", a + "ledger_memory: -1MiB", []string{`2:16 ledger_memory: "-1MiB" ` + size}},
		{"a fraction", a + "ledger_memory: 1.5GiB", []string{`2:16 ledger_memory: "1.5GiB" ` + size}},
		{"more than 2^64", a + "ledger_memory: 99999999999999999999GiB", []string{`2:16 ledger_memory: 99999999999999999999GiB is too large`}},
		{"small letters", a + "ledger_memory: 64mib", []string{`2:16 ledger_memory: "64mib" is not a size, write 64MiB; units are B, KiB, MiB, GiB`}},
		{"more than a disk", a + "ledger_max_bytes: 1025GiB", []string{`2:19 ledger_max_bytes: 1025GiB is out of range, want 16MiB to 1024GiB`}},
		{"a share", a + "memory_limit: 50%", []string{`2:15 memory_limit: "50%" ` + size}},
		{"a truth for a word", a + "log: {level: true}", []string{`2:14 log.level: "true" is not allowed, want one of: trace, debug, info, warn, error`}},
		{"a variable without end", a + "data_dir: ${A", []string{`2:11 data_dir: "${A"` + dollar}},
		{"a variable without a name", a + "data_dir: ${}", []string{`2:11 data_dir: "${}"` + dollar}},
		{"a command of the shell", a + "data_dir: $(pwd)", []string{`2:11 data_dir: "$(pwd)"` + dollar}},
		{"port 0", a + "listen: {link: 'h:0'}", []string{`2:16 listen.link: "h:0": the port must be a number from 1 to 65535`}},
		{"a negative port", a + "listen: {link: ':-1'}", []string{`2:16 listen.link: ":-1": the port must be a number from 1 to 65535`}},
		{"half a bracket", a + "listen: {link: '[::1:4747'}", []string{
			`2:16 listen.link: "[::1:4747" is not an address, want host:port such as nyc-1.example.net:4747 or [2001:db8::1]:4747`}},
		{"a space in a host", a + "listen: {link: 'a b:1'}", []string{`2:16 listen.link: "a b:1": "a b" is neither an IP address nor a host's name`}},
		{"a port alone", a + "listen: {link: 4747}", []string{`2:16 listen.link: "4747" is a port alone, want host:port`}},
		{"a socket without a name in the file system", a + "listen: {api: '@abstract'}", []string{`2:15 listen.api: "@abstract" is not an absolute path, begin it with /`}},
		{"a queue without a name", a + "queues: {'': {}}", []string{`2:10 queues."": queue name "": ` + queue}},
		{"a queue with a slash", a + "queues: {a/b: {}}", []string{`2:10 queues."a/b": queue name "a/b": ` + queue}},
		{"a queue of two lines", a + `queues: {"a\nb": {}}`, []string{`2:10 queues."a\nb": queue name "a\nb": ` + queue}},
		{"a queue beyond ASCII", a + "queues: {ä: {}}", []string{`2:10 queues."ä": queue name "ä": ` + queue}},
		{"a queue of 121 bytes", a + "queues: {" + strings.Repeat("q", 121) + ": {}}", []string{
			"2:10 queues." + strings.Repeat("q", 121) + `: queue name "` + strings.Repeat("q", 121) + `": ` + queue}},
		{"a route out of dead letters", link("PEER_A, addresses: [h:1], send: [{from: o.dead, to: o}]"), []string{
			`3:120 links.n.send[0].from: queue name "o.dead": not allowed, the suffix .dead is reserved for dead letters`}},
		{"an address in an address", link("PEER_A, addresses: [[h:1]], receive: [{to: o}]"), []string{
			`3:100 links.n.addresses[0]: want a single value, got a list`}},
		{"a peer given twice", link("PEER_A, PEER_A, addresses: [h:1], receive: [{to: o}]"), []string{
			`3:88 links.n.peer_id: given twice, first in line 3`}},
		{"a right given twice in one", link("PEER_A, addresses: [h:1], receive: [{to: o, to: o}]"), []string{
			`3:124 links.n.receive[0].to: given twice, first in line 3`}},
		{"no identity", link("peer_ids: [], addresses: [h:1], receive: [{to: o}]"), []string{
			`3:23 links.n.peer_ids: 0 identities, want one, or two while the peer changes its key`}},
		{"half an identity", link("peer_id: ABCD, addresses: [h:1], receive: [{to: o}]"), []string{
			"3:22 links.n.peer_id: identity \"ABCD\": want 52 characters of A-Z and 2-7, as printed by `drawbridge identity show`"}},
	})
}

// What grows beyond its size when it is read: aliases of aliases, and a mapping a line for a thousand levels.
func TestFilesThatWouldGrowAreReadInTheirSize(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("agent: &a0 a\n")
	for i := 1; i < 30; i++ {
		fmt.Fprintf(&laughs, "log: &a%d [%s]\n", i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	var nested strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&nested, "%slog:\n", strings.Repeat(" ", i))
	}
	for name, src := range map[string]string{"aliases": laughs.String(), "nesting": nested.String()} {
		begin := time.Now()
		if got := lines(t, src); len(got) > 1000 {
			t.Errorf("%s: %d problems", name, len(got))
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("%s: %s", name, took)
		}
	}
}

func TestPathsThatAreNoFileAreTold(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret.yaml")
	if err := os.WriteFile(secret, []byte("agent: a\n"), 0); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		dir:                           dir + ": read " + dir + ": is a directory",
		secret + "/x":                 secret + "/x: open " + secret + "/x: not a directory",
		dir + "/a\x00b":               dir + "/a\x00b: open " + dir + "/a\x00b: invalid argument",
		dir + strings.Repeat("/x", 5): dir + strings.Repeat("/x", 5) + ": there is no such file; `drawbridge init` writes one to begin with",
		secret:                        secret + ": open " + secret + ": permission denied",
	} {
		if path == secret && os.Getuid() == 0 {
			continue // root reads everything
		}
		if _, err := config.Load(path); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

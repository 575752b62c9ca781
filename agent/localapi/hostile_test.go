package localapi_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"drawbridge/agent/localapi"
	"drawbridge/api"
	"drawbridge/message"
)

// answerWithin is how long a server on a busy machine may think about bytes that are all there.
const answerWithin = 20 * time.Second

// dial opens a connection that a test writes on as it likes.
func (h *host) dial() *net.UnixConn {
	h.t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: h.socket, Net: "unix"})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { c.Close() })
	return c
}

// send writes raw bytes, ends its half of the connection, and returns all that comes back. To the server that is a client who
// has gone away: what it stores then may be answered as unknown.
func (h *host) send(raw string) string {
	h.t.Helper()
	return h.exchange(raw, (*net.UnixConn).CloseWrite)
}

// ask writes a request after which the server is to hang up, and returns all that comes back.
func (h *host) ask(request string) string {
	h.t.Helper()
	return h.exchange(strings.Replace(request, "\r\n", "\r\nHost: a\r\nConnection: close\r\n", 1), func(*net.UnixConn) error { return nil })
}

func (h *host) exchange(raw string, then func(*net.UnixConn) error) string {
	h.t.Helper()
	c := h.dial()
	defer c.Close()
	c.SetDeadline(time.Now().Add(answerWithin))
	// The server may hang up before it has read all.
	_, _ = io.WriteString(c, raw)
	_ = then(c)
	got, err := io.ReadAll(c)
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		h.t.Fatalf("%.80q is neither answered nor hung up on", raw)
	}
	return string(got)
}

// statuses returns the status of each answer in what came back.
func statuses(got string) (all []string) {
	for _, m := range regexp.MustCompile(`(?m)^HTTP/1\.1 (\d\d\d) `).FindAllStringSubmatch(got, -1) {
		all = append(all, m[1])
	}
	return all
}

func TestBytesThatAreNoRequestAreAnsweredOrHungUpOn(t *testing.T) {
	h := start(t)
	put := func(path string, lines ...string) string {
		return "PUT " + path + " HTTP/1.1\r\nHost: a\r\n" + strings.Join(lines, "\r\n") + "\r\n\r\n"
	}
	const orders = "/v1/queues/orders/messages/"
	chunked := func(body string) string { return put(orders+"chunked", "Transfer-Encoding: chunked") + body }
	for _, c := range []struct {
		name, raw string
		// want are the statuses that come back, code the one in the last answer if it is a problem.
		want string
		code api.Code
	}{
		{"nothing", "", "", ""},
		{"half a request line", "PUT /v1/queu", "400", ""},
		{"half a header", "GET /livez HTTP/1.1\r\nHost: a\r\nX-", "400", ""},
		{"no version", "GET /livez\r\n\r\n", "400", ""},
		{"a version to come", "GET /livez HTTP/9.9\r\nHost: a\r\n\r\n", "505", ""},
		{"no host", "GET /livez HTTP/1.1\r\n\r\n", "400", ""},
		{"two hosts", "GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "400", ""},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", "400", ""},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "400", api.CodeMalformed},
		{"zeros", strings.Repeat("\x00", 4096) + "\r\n\r\n", "400", ""},
		{"a request line without end", "GET /" + strings.Repeat("a", 200<<10), "431", ""},
		{"a header without end", "GET /livez HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 200<<10), "431", ""},
		{"a flood of headers", "GET /livez HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: y\r\n", 50_000), "431", ""},
		{"a header without a name", "GET /livez HTTP/1.1\r\nHost: a\r\n: y\r\n\r\n", "400", ""},
		{"a header with a space in its name", "GET /livez HTTP/1.1\r\nHost: a\r\nX y: z\r\n\r\n", "400", ""},
		{"a header with a zero byte", "GET /livez HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n", "400", ""},
		{"a folded header", "GET /livez HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n", "200", ""},
		{"negative length", put(orders+"a", "Content-Length: -1"), "400", ""},
		{"no number for a length", put(orders+"a", "Content-Length: many"), "400", ""},
		{"two lengths", put(orders+"a", "Content-Length: 1", "Content-Length: 2") + "xx", "400", ""},
		{"a length of 2^64", put(orders+"a", "Content-Length: 18446744073709551616"), "400", ""},
		{"a length of 2^62", put(orders+"a", "Content-Length: 4611686018427387904"), "413", api.CodeTooLarge},
		{"more length than body", put(orders+"a", "Content-Length: 10") + "half", "400", api.CodeMalformed},
		{"an unknown encoding", put(orders+"a", "Transfer-Encoding: gzip"), "501", ""},
		{"chunks of garbage", chunked("zz\r\nxx\r\n"), "400", api.CodeMalformed},
		{"a chunk of 2^62", chunked("4000000000000000\r\nxx"), "400", api.CodeMalformed},
		{"a chunk of 2^64", chunked("10000000000000000\r\nxx"), "400", api.CodeMalformed},
		{"a negative chunk", chunked("-1\r\nx\r\n0\r\n\r\n"), "400", api.CodeMalformed},
		{"half a chunk", chunked("5\r\nab"), "400", api.CodeMalformed},
		{"chunks without a last one", chunked("2\r\nab\r\n"), "400", api.CodeMalformed},
		{"half of the end of chunks", chunked("2\r\nab\r\n0\r\n"), "400", api.CodeMalformed},
		{"more chunk extension than chunk", chunked(strings.Repeat("1;"+strings.Repeat("e", 2000)+"\r\nx\r\n", 100) + "0\r\n\r\n"), "400", api.CodeMalformed},
		{"chunks above the limit", chunked(strings.Repeat("10000\r\n"+strings.Repeat("x", 1<<16)+"\r\n", 17) + "0\r\n\r\n"), "413", api.CodeTooLarge},
		{"chunks above a small limit", put("/v1/queues/small/messages/a", "Transfer-Encoding: chunked") + "11\r\n" + strings.Repeat("x", 17) + "\r\n0\r\n\r\n", "413", api.CodeTooLarge},

		{"a zero byte in the path", put("/v1/queues/orders/messages/a\x00b", "Content-Length: 1") + "x", "400", ""},
		{"a zero byte as id", put(orders+"%00", "Content-Length: 1") + "x", "400", api.CodeMalformed},
		{"a line end as id", put(orders+"a%0D%0Ab", "Content-Length: 1") + "x", "400", api.CodeMalformed},
		{"half an escape", put(orders+"a%2", "Content-Length: 1") + "x", "400", ""},
		{"bytes beyond ASCII as id", put(orders+"%C3%A4", "Content-Length: 1") + "x", "400", api.CodeMalformed},
		{"two dots as id", put(orders+"..", "Content-Length: 1") + "x", "400", api.CodeMalformed},
		{"up to another route", put(orders+"../../small/messages/a", "Content-Length: 1") + "x", "400", api.CodeMalformed},
		{"an empty part", put("/v1/queues//messages/a", "Content-Length: 1") + "x", "400", api.CodeMalformed},
		{"two parts where an id belongs", put(orders+"a/b", "Content-Length: 1") + "x", "404", api.CodeNoSuchCall},
		{"no id", put(orders, "Content-Length: 1") + "x", "404", api.CodeNoSuchCall},
		{"an id of 129 bytes", put(orders+strings.Repeat("%41", 129), "Content-Length: 1") + "x", "400", api.CodeMalformed},
		{"a queue of zero bytes", put("/v1/queues/%00/messages/a", "Content-Length: 1") + "x", "400", api.CodeMalformed},
		{"a queue with a slash", put("/v1/queues/..%2F..%2Fetc/messages/a", "Content-Length: 1") + "x", "400", api.CodeMalformed},
		{"a queue of 121 bytes", put("/v1/queues/"+strings.Repeat("q", 121)+"/messages/a", "Content-Length: 1") + "x", "400", api.CodeMalformed},
		{"a queue of 120 bytes that is not there", put("/v1/queues/"+strings.Repeat("q", 120)+"/messages/a", "Content-Length: 1") + "x", "404", api.CodeNoSuchQueue},
		{"a path of 60 KiB", "GET /" + strings.Repeat("a/", 30<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", "404", api.CodeNoSuchCall},
		{"a method of 60 KiB", strings.Repeat("M", 60<<10) + " /livez HTTP/1.1\r\nHost: a\r\n\r\n", "405", api.CodeBadMethod},
		{"a star", "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "400", api.CodeMalformed},
		{"a tunnel", "CONNECT other:80 HTTP/1.1\r\nHost: other:80\r\n\r\n", "400", api.CodeMalformed},
		{"another host's URL", "GET http://elsewhere.example/livez HTTP/1.1\r\nHost: a\r\n\r\n", "200", ""},
		{"two requests in one write", "GET /livez HTTP/1.1\r\nHost: a\r\n\r\nGET /nope HTTP/1.1\r\nHost: a\r\n\r\n", "200 404", api.CodeNoSuchCall},
		{"a good request with garbage behind it", "GET /livez HTTP/1.1\r\nHost: a\r\n\r\n\x00\x01\x02\r\n\r\n", "200 400", ""},
		{"a body where none belongs, then a request", "GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /livez HTTP/1.1\r\nHost: a\r\n\r\n", "200 200", ""},
		{"a length and chunks, to smuggle a request", put(orders+"a", "Content-Length: 60", "Transfer-Encoding: chunked") + "zz\r\n\r\nGET /livez HTTP/1.1\r\nHost: a\r\n\r\n", "400", api.CodeMalformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := h.send(c.raw)
			if all := strings.Join(statuses(got), " "); all != c.want {
				t.Fatalf("answered %q, want %q:\n%.300s", all, c.want, got)
			}
			if c.code != "" && !strings.Contains(got, `"code":"`+string(c.code)+`"`) {
				t.Errorf("no code %s in\n%.600s", c.code, got)
			}
			if len(got) > 4096 {
				t.Errorf("an answer of %d bytes", len(got))
			}
		})
	}
	h.requireNothingStored()
}

func (h *host) requireNothingStored() {
	h.t.Helper()
	for _, q := range h.store.Stats() {
		if q.Stored != 0 {
			h.t.Errorf("a bad request stored %d messages in %s", q.Stored, q.Name)
		}
	}
	if a := h.call("PUT", "/v1/queues/orders/messages/afterwards", "x"); a.status != http.StatusCreated {
		h.t.Errorf("a good request is answered %d afterwards: %s", a.status, a.body)
	}
}

func TestOddIdsThatAreAllowedAreStored(t *testing.T) {
	h := start(t)
	for _, id := range []string{"..", ".", "//", "../../etc/passwd", "%2e", "?x=1#y", `"\'`, "~", "!", strings.Repeat("~", message.MaxIDBytes)} {
		var path strings.Builder
		for _, b := range []byte(id) {
			fmt.Fprintf(&path, "%%%02X", b)
		}
		got := h.ask("PUT /v1/queues/orders/messages/" + path.String() + " HTTP/1.1\r\nContent-Length: 1\r\n\r\nx")
		if all := statuses(got); len(all) != 1 || all[0] != "201" || !strings.Contains(got, "\r\n"+api.HeaderID+": "+id+"\r\n") {
			t.Errorf("id %q is answered\n%s", id, got)
		}
	}
}

// routes are all paths of the API with a method that they take.
var routes = map[string]string{
	"/v1/queues/orders/messages/a": "PUT",
	"/v1/queues/orders/messages":   "POST",
	"/v1/queues/orders/lease":      "POST",
	"/v1/receipts/ack":             "POST",
	"/v1/clock/accept":             "POST",
	"/v1/queues":                   "GET",
	"/v1/queues/orders":            "GET",
	"/v1/links":                    "GET",
	"/v1/links/nyc":                "GET",
	"/v1/info":                     "GET",
	"/v1/log":                      "PUT",
	"/livez":                       "GET",
	"/readyz":                      "GET",
	"/health":                      "GET",
}

func TestEveryPathTakesItsMethodsAndNoOther(t *testing.T) {
	h := start(t)
	for path, own := range routes {
		allowed := strings.Join(h.call("TRACE", path, "").header.Values("Allow"), " ")
		if !strings.Contains(allowed, own) {
			t.Errorf("%s allows %q, want %s in it", path, allowed, own)
		}
		for _, method := range []string{"DELETE", "PATCH", "OPTIONS", "TRACE", "get", "X"} {
			a := h.call(method, path, "")
			if p := a.problem(t); a.status != http.StatusMethodNotAllowed || p.Code != api.CodeBadMethod {
				t.Errorf("%s %s: %d %s", method, path, a.status, p.Code)
			}
		}
	}
	h.requireNothingStored()
}

// Each request is a good one with some bytes changed, cut out or doubled. Whatever it means then, it is answered or hung up
// on, and no answer says that something broke.
func TestRandomDamageAtEveryRoute(t *testing.T) {
	h := start(t)
	rng := rand.New(rand.NewPCG(6, 5))
	bodies := []string{"", "x", `{"id":"a","body":"text","headers":{"n":"v"}}` + "\n", `["a","b"]`, "5\r\nabcde\r\n0\r\n\r\n"}
	for path, method := range routes {
		for n := range 150 {
			body := bodies[rng.IntN(len(bodies))]
			framing := "Content-Length: " + strconv.Itoa(len(body))
			if n%5 == 0 {
				framing = "Transfer-Encoding: chunked"
			}
			types := []string{api.TypeNDJSON, api.TypeJSON, api.TypeText}
			raw := []byte(method + " " + path + " HTTP/1.1\r\nHost: a\r\nConnection: close\r\nDrawbridge-H-N: v\r\nContent-Type: " + types[n%3] + "\r\n" + framing + "\r\n\r\n" + body)
			for range 1 + rng.IntN(4) {
				at := rng.IntN(len(raw))
				switch rng.IntN(4) {
				case 0:
					raw[at] = byte(rng.Uint32())
				case 1:
					raw = append(raw[:at], raw[min(len(raw), at+1+rng.IntN(8)):]...)
				case 2:
					raw = append(raw[:at], append(bytes.Clone(raw[at:min(len(raw), at+1+rng.IntN(30))]), raw[at:]...)...)
				case 3:
					raw = append(raw[:at], append([]byte{0, 0xff, '\r', '\n', '%', '"', '{'}[rng.IntN(6):][:1], raw[at:]...)...)
				}
				if len(raw) == 0 {
					break
				}
			}
			got := h.send(string(raw))
			for _, status := range statuses(got) {
				if status[0] == '5' && status != "501" && status != "505" && !strings.Contains(got, "context canceled") {
					t.Fatalf("%q is answered\n%s", raw, got)
				}
			}
		}
	}
	if a := h.call("GET", "/livez", ""); a.status != http.StatusOK {
		t.Errorf("afterwards: %d", a.status)
	}
}

func TestLinesThatAreHostileGetTheirVerdictAndTheOthersTheirs(t *testing.T) {
	h := start(t)
	keys := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"k%d":""`, i)
		}
		return b.String()[1:]
	}
	for _, c := range []struct{ name, line, detail string }{
		{"deep lists", strings.Repeat("[", 1<<20), "nested deeper than 16"},
		{"deep objects", strings.Repeat(`{"a":`, 1<<18), "nested deeper than 16"},
		{"deep where text belongs", `{"body":` + strings.Repeat("[", 15) + strings.Repeat("]", 15) + `}`, "cannot unmarshal array"},
		{"a million keys", `{"headers":{` + keys(300_000) + `}}`, "more than 256 keys"},
		{"65 headers", `{"headers":{` + keys(65) + `}}`, "header"},
		{"an id given twice", `{"id":"a","id":"b"}`, `the key "id" is given twice`},
		{"an id given twice, one in capitals", `{"id":"a","ID":"b"}`, `the key "ID" is given twice`},
		{"an id given twice, one escaped", `{"id":"a","\u0069d":"b"}`, `the key "id" is given twice`},
		{"a header given twice", `{"headers":{"n":"a","n":"b"}}`, `the key "n" is given twice`},
		{"a number as id", `{"id":7}`, "cannot unmarshal number"},
		{"a list as body", `{"body":[1]}`, "cannot unmarshal array"},
		{"an object as key", `{"key":{}}`, "cannot unmarshal object"},
		{"a list as headers", `{"headers":["n"]}`, "cannot unmarshal array"},
		{"a number as header", `{"headers":{"n":1}}`, "cannot unmarshal number"},
		{"text as priority", `{"priority":"high"}`, "cannot unmarshal string"},
		{"a fraction as priority", `{"priority":1.5}`, "cannot unmarshal number"},
		{"a negative priority", `{"priority":-1}`, "cannot unmarshal number"},
		{"a huge priority", `{"priority":1e400}`, "cannot unmarshal number"},
		{"a priority of a megabyte", `{"priority":` + strings.Repeat("9", 1<<20) + `}`, "cannot unmarshal number"},
		{"an unknown key of a megabyte", `{"` + strings.Repeat("k", 1<<20) + `":1}`, "unknown field"},
		{"no base64", `{"body_base64":"!"}`, "base64"},
		{"a list", `[]`, "cannot unmarshal array"},
		{"a word", `"x"`, "cannot unmarshal string"},
		{"half an object", `{"id":"a"`, "unexpected EOF"},
		{"half a string", `{"id":"a`, "unexpected EOF"},
		{"half an escape", `{"id":"\u00`, "unexpected EOF"},
		{"a zero byte", "{\"id\":\"a\x00\"}", "invalid character"},
		{"a zero byte, escaped", `{"id":"a\u0000"}`, "message id"},
		{"an id of 129 bytes", `{"id":"` + strings.Repeat("i", 129) + `"}`, "message id"},
		{"NaN", `{"priority":NaN}`, "invalid character"},
		{"a body above the limit", `{"body":"` + strings.Repeat("b", 1<<20+1) + `"}`, "1048577"},
	} {
		t.Run(c.name, func(t *testing.T) {
			good := `{"id":"good ` + c.name + `"}`
			good = strings.ReplaceAll(good, " ", "-")
			a := h.call("POST", "/v1/queues/orders/messages", c.line+"\n"+good+"\n", "Content-Type", api.TypeNDJSON)
			results := linesOf[api.PutResult](t, a)
			if len(results) != 2 {
				t.Fatalf("%d %.300s", a.status, a.body)
			}
			if r := results[0]; r.Verdict != api.VerdictRefused || !strings.Contains(r.Detail, c.detail) || len(r.Detail) > 600 {
				t.Errorf("%s %.700s, want refused with %q", r.Verdict, r.Detail, c.detail)
			}
			if r := results[1]; r.Verdict != api.VerdictStored {
				t.Errorf("the line behind it: %+v", r)
			}
		})
	}
}

func TestReceiptsThatAreHostileAreRefused(t *testing.T) {
	h := start(t)
	for _, c := range []struct{ mediaType, body string }{
		{api.TypeJSON, strings.Repeat("[", 1<<20)},
		{api.TypeJSON, `{"receipt":"a"}`},
		{api.TypeJSON, `[{"receipt":"a","receipt":"b"}]`},
		{api.TypeJSON, `["a"] ["b"]`},
		{api.TypeJSON, `[null, {"receipt":[]}]`},
		{api.TypeJSON, `["a"`},
		{api.TypeNDJSON, strings.Repeat("{", 1<<20)},
		{api.TypeNDJSON, `"a" "b"`},
		{api.TypeNDJSON, "\xff"},
		{api.TypeText, strings.Repeat("\n", localapi.MaxReceiptsBytes)},
		{api.TypeText, strings.Repeat("r\n", localapi.MaxReceiptsBytes/2)},
		{api.TypeText, strings.Repeat("r", localapi.MaxReceiptsBytes+1)},
	} {
		a := h.call("POST", "/v1/receipts/ack", c.body, "Content-Type", c.mediaType)
		if p := a.problem(t); a.status/100 != 4 || len(p.Detail) > 600 {
			t.Errorf("%.40q: %d %.700s", c.body, a.status, p.Detail)
		}
	}
	// Receipts that are none, and huge ones, have their verdict a line.
	a := h.call("POST", "/v1/receipts/ack", "\x00\n"+strings.Repeat("r", 1<<20)+"\n../..\n", "Content-Type", api.TypeText)
	for _, r := range linesOf[api.ReceiptResult](t, a) {
		if r.Verdict != api.BadReceipt {
			t.Errorf("%.40q: %s", r.Receipt, r.Verdict)
		}
	}
}

// head reads the head of the next answer on a connection.
func head(t *testing.T, c net.Conn) *http.Response {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(answerWithin))
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

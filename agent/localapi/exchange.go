package localapi

import (
	"net/http"
	"sync/atomic"
	"time"

	"drawbridge/api"
)

const (
	// bodyTimeout is how long a request's body may take. Nobody on this host needs that long for 8 MiB.
	bodyTimeout = 30 * time.Second
	// writeTimeout is how long a client may read nothing of what it has asked for. It is longer than bodyTimeout: an answer
	// may have to wait for a body that nobody wants.
	writeTimeout = time.Minute
	// writeStep is how much of an answer has to be read within writeTimeout.
	writeStep = 64 << 10
)

// exchange is one request and its answer within the bounds of time and memory that a client has. It is the ResponseWriter
// that calls get.
type exchange struct {
	http.ResponseWriter
	control *http.ResponseController
	// bodies is what large bodies may take of memory; held is what this one has of it.
	bodies *budget
	held   int64
}

func newExchange(w http.ResponseWriter, r *http.Request, bodies *budget) *exchange {
	e := &exchange{ResponseWriter: w, control: http.NewResponseController(w), bodies: bodies}
	// A recorder in place of a connection has no deadlines, and needs none.
	_ = e.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if r.ContentLength != 0 {
		// Also for a body that no call reads: the server reads on to its end before it answers.
		_ = e.control.SetReadDeadline(time.Now().Add(bodyTimeout))
	}
	return e
}

// hasRead says that the body is whole: what the call waits for from now on is not the client.
func (e *exchange) hasRead() { _ = e.control.SetReadDeadline(time.Time{}) }

// WriteHeader implements http.ResponseWriter.
func (e *exchange) WriteHeader(status int) {
	_ = e.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	e.ResponseWriter.WriteHeader(status)
}

// Write writes in steps, each with its own time: an answer may be long, and only one that nobody reads is cut off.
func (e *exchange) Write(b []byte) (written int, err error) {
	for {
		_ = e.control.SetWriteDeadline(time.Now().Add(writeTimeout))
		n, err := e.ResponseWriter.Write(b[:min(len(b), writeStep)])
		written += n
		if b = b[n:]; err != nil || len(b) == 0 {
			return written, err
		}
	}
}

// Unwrap lets an http.ResponseController find the connection.
func (e *exchange) Unwrap() http.ResponseWriter { return e.ResponseWriter }

// hold takes bytes from the budget of large bodies for as long as the exchange lasts. The error is a refusal.
func (e *exchange) hold(bytes int) error {
	if !e.bodies.take(int64(bytes)) {
		return refuse(api.CodeBusy, "a body of %d bytes beside other large ones, which may be %d bytes together", bytes, int64(largeBodiesBytes))
	}
	e.held += int64(bytes)
	return nil
}

// end gives back what was held.
func (e *exchange) end() { e.bodies.give(e.held) }

// budget is a number of bytes that many share. Nobody waits for it: who waited would hold a connection meanwhile.
type budget struct{ left atomic.Int64 }

func newBudget(bytes int64) *budget {
	b := new(budget)
	b.left.Store(bytes)
	return b
}

func (b *budget) take(bytes int64) bool {
	if b.left.Add(-bytes) >= 0 {
		return true
	}
	b.left.Add(bytes)
	return false
}

func (b *budget) give(bytes int64) { b.left.Add(bytes) }

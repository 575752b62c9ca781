package localapi

import (
	"bytes"
	"errors"
	"io"
	"net/http"

	"drawbridge/api"
)

const (
	// freeBodyBytes of each body are read whatever else is in memory. With maxConns it bounds what small bodies take.
	freeBodyBytes = 64 << 10
	// largeBodiesBytes is what bodies above freeBodyBytes may take of memory, all together, until their calls are answered.
	largeBodiesBytes = 64 << 20
)

// readBody reads the whole body, at most limit bytes of it. Memory is taken for what has come, not for what was announced:
// the whole of a large body only when its first freeBodyBytes are there.
func readBody(w http.ResponseWriter, r *http.Request, limit uint64) ([]byte, error) {
	if r.ContentLength > int64(limit) {
		return nil, refuse(api.CodeTooLarge, "a body of %d bytes, at most %d are taken here", r.ContentLength, limit)
	}
	e := w.(*exchange) // ServeHTTP has made it
	in := http.MaxBytesReader(e.ResponseWriter, r.Body, int64(limit))
	var body []byte
	var err error
	if r.ContentLength >= 0 {
		body, err = e.readKnown(in, int(r.ContentLength))
	} else {
		body, err = e.readChunks(in, int(limit))
	}
	var known *refusal
	var tooLong *http.MaxBytesError
	switch {
	case err == nil:
		e.hasRead()
		return body, nil
	case errors.As(err, &known):
		return nil, err
	case errors.As(err, &tooLong):
		return nil, refuse(api.CodeTooLarge, "a body of more than %d bytes", limit)
	}
	// Nothing was stored: half a message is no message.
	return nil, refuse(api.CodeMalformed, "body: %v", err)
}

// readKnown reads a body of n bytes.
func (e *exchange) readKnown(in io.Reader, n int) ([]byte, error) {
	body := make([]byte, min(n, freeBodyBytes))
	if _, err := io.ReadFull(in, body); err != nil || n == len(body) {
		return body, err
	}
	if err := e.hold(n); err != nil {
		return nil, err
	}
	whole := make([]byte, n)
	_, err := io.ReadFull(in, whole[copy(whole, body):])
	return whole, err
}

// readChunks reads a body that has not said how long it is, at most limit.
func (e *exchange) readChunks(in io.Reader, limit int) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(in, freeBodyBytes))
	if err != nil || len(body) < freeBodyBytes {
		return body, err
	}
	if err := e.hold(limit); err != nil {
		return nil, err
	}
	whole := bytes.NewBuffer(body)
	_, err = whole.ReadFrom(in)
	return whole.Bytes(), err
}

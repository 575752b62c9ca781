package client

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"drawbridge/api"
)

// ErrUnreachable is wrapped when no agent listens on the socket, or it may not be opened. Nothing was changed.
var ErrUnreachable = errors.New("the agent is not reachable")

// ErrUnknown is wrapped when a call that changes something got no answer, or the answer that the outcome is unknown.
// Repeating the call with the same ids is safe.
var ErrUnknown = errors.New("outcome unknown")

// Error is an error that the agent answered, or that the client found before asking (then with the same code).
type Error struct {
	Status int
	Code   api.Code
	// Title says what happened; Detail says what exactly and what to do.
	Title, Detail string
}

// Error returns the detail, or the title if there is none.
func (e *Error) Error() string {
	if e.Detail != "" {
		return e.Detail
	}
	return e.Title
}

// Is makes an answered "unknown" an ErrUnknown.
func (e *Error) Is(target error) bool {
	return target == ErrUnknown && (e.Code == api.CodeUnknown || e.Code == "")
}

// Refused says that the call certainly changed nothing.
func (e *Error) Refused() bool {
	return e.Status/100 == 4 || e.Status == http.StatusInsufficientStorage || e.Code == api.CodeStopping
}

func refusal(code api.Code, err error) error {
	return &Error{Status: http.StatusBadRequest, Code: code, Title: "the request is malformed", Detail: err.Error()}
}

const maxProblemBytes = 64 << 10

// readProblem turns an answer that is no success into an Error. What is not a problem document keeps its text, and of an
// answer of 500 and above nothing is certain then.
func readProblem(resp *http.Response) error {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxProblemBytes))
	var p api.Problem
	if err == nil && json.Unmarshal(body, &p) == nil && p.Code != "" {
		return &Error{Status: resp.StatusCode, Code: p.Code, Title: p.Title, Detail: p.Detail}
	}
	e := &Error{Status: resp.StatusCode, Title: resp.Status, Detail: strings.TrimSpace(string(body))}
	if e.Status/100 == 5 {
		return e
	}
	e.Code = api.CodeRefused
	return e
}

package localapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"drawbridge/api"
	"drawbridge/message"
	"drawbridge/spool"
)

// refusal is an error that already knows its code.
type refusal struct {
	code   api.Code
	detail string
}

func (e *refusal) Error() string { return e.detail }

func refuse(code api.Code, format string, args ...any) error {
	return &refusal{code, fmt.Sprintf(format, args...)}
}

// answer is what a code always says.
type answer struct {
	status int
	title  string
	advice string
}

// answerTo returns status, title and advice of a code.
func answerTo(code api.Code) answer {
	switch code {
	case api.CodeIDConflict:
		return answer{http.StatusConflict, "the id is in use with other content", "Give the new message an id of its own; a retry must repeat body and key"}
	case api.CodeMalformed:
		return answer{http.StatusBadRequest, "the request is malformed", "Nothing was changed; correct the request, retrying it as it is cannot help"}
	case api.CodeBadOption:
		return answer{http.StatusBadRequest, "a query option is not allowed", "Nothing was changed; correct the query"}
	case api.CodeTooLarge:
		return answer{http.StatusRequestEntityTooLarge, "the body is too large", "Nothing was stored; send less, or raise the queue's max_message_bytes where that is the limit"}
	case api.CodeNoSuchQueue:
		return answer{http.StatusNotFound, "no such queue", "Nothing was changed; GET /v1/queues lists the queues, the agent's configuration adds one"}
	case api.CodeNoSuchLink:
		return answer{http.StatusNotFound, "no such link", "GET /v1/links lists the links"}
	case api.CodeNoSuchCall:
		return answer{http.StatusNotFound, "no such call", "Compare path and version with the documentation"}
	case api.CodeBadMethod:
		return answer{http.StatusMethodNotAllowed, "the path does not take this method", "Use one of the methods in the Allow header"}
	case api.CodeQueueIsRouted:
		return answer{http.StatusConflict, "the queue leaves by a link", "Its messages belong to the far side: take them there, or look at them here with GET …/messages"}
	case api.CodeReserved:
		return answer{http.StatusForbidden, "the queue is for dead letters", "Nothing was stored; put into the queue itself"}
	case api.CodeUnknown:
		return answer{http.StatusServiceUnavailable, "outcome unknown", "It may or may not have been done; repeat the call with the same ids, which is safe"}
	case api.CodeStopping:
		return answer{http.StatusServiceUnavailable, "the agent is stopping", "Nothing was changed; repeat the call when the agent runs again"}
	case api.CodeNotReady:
		return answer{http.StatusServiceUnavailable, "the agent is not ready", "GET /health says which part is not"}
	case api.CodeBadToken:
		return answer{http.StatusUnauthorized, "no token, or the wrong one", "Send the header Authorization: Bearer with the token of the agent's file"}
	case api.CodeBusy:
		return answer{http.StatusTooManyRequests, "too much at once", "Nothing was changed; repeat the call after a moment"}
	case api.CodeRefused:
		return answer{http.StatusBadRequest, "refused", "Nothing was changed"}
	default:
		return answer{http.StatusInternalServerError, "internal error", "Nothing was changed; the agent's log says more"}
	}
}

// codeOf is the one place where errors become codes. Unknown is looked at first: an error that may have come out of a commit
// is never reported as a refusal, whatever else it wraps.
func codeOf(method string, err error) api.Code {
	var known *refusal
	switch {
	case errors.Is(err, spool.ErrUnknown):
		return api.CodeUnknown
	case errors.As(err, &known):
		return known.code
	case errors.Is(err, spool.ErrTooLarge):
		return api.CodeTooLarge
	case errors.Is(err, spool.ErrNoQueue):
		return api.CodeNoSuchQueue
	case errors.Is(err, spool.ErrReserved):
		return api.CodeReserved
	case errors.Is(err, spool.ErrRouted):
		return api.CodeQueueIsRouted
	case errors.Is(err, spool.ErrConflict):
		return api.CodeIDConflict
	case errors.Is(err, spool.ErrMalformed), errors.Is(err, message.ErrName):
		return api.CodeMalformed
	case errors.Is(err, spool.ErrClosed):
		return api.CodeStopping
	case method == http.MethodGet:
		return api.CodeInternal
	}
	return api.CodeUnknown
}

func problemOf(method string, err error) api.Problem {
	code := codeOf(method, err)
	a := answerTo(code)
	return api.Problem{Title: a.title, Status: a.status, Code: code, Detail: err.Error() + ". " + a.advice + "."}
}

func writeProblem(w http.ResponseWriter, p api.Problem) {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings and an int always marshal
	}
	w.Header().Set("Content-Type", api.TypeProblem)
	if p.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n')) // who no longer listens needs no answer
}

// clip keeps a hostile path from filling an answer.
func clip(s string) string {
	if len(s) > 150 {
		return s[:150] + "…"
	}
	return s
}

package localapi

import (
	"net/http"
	"slices"
	"strings"

	"drawbridge/api"
	"drawbridge/message"
)

// messageHeaders picks the message headers out of those of a request: Drawbridge-H-NAME, and the three that tracing
// libraries set by themselves under their own names. A header given on several lines is one list, as in HTTP.
func messageHeaders(h http.Header) (message.Headers, error) {
	var headers message.Headers
	for canonical, lines := range h {
		name, ok := strings.CutPrefix(canonical, api.HeaderPrefix)
		if !ok {
			switch canonical {
			case "Traceparent", "Tracestate", "Baggage":
			default:
				continue
			}
			if _, explicit := h[api.HeaderPrefix+canonical]; explicit {
				continue
			}
			name = canonical
		}
		e := message.Header{Name: strings.ToLower(name), Value: strings.Join(lines, ",")}
		if err := checkText("header "+e.Name, e.Value); err != nil {
			return nil, err
		}
		headers = append(headers, e)
	}
	slices.SortFunc(headers, func(a, b message.Header) int { return strings.Compare(a.Name, b.Name) })
	return headers, nil
}

// checkText refuses a value that api.CheckText refuses; what names it in the error.
func checkText(what, value string) error {
	if err := api.CheckText(value); err != nil {
		return refuse(api.CodeMalformed, "%s: %v", clip(what), err)
	}
	return nil
}

// headerMap is the JSON form of message headers.
func headerMap(headers message.Headers) map[string]string {
	if len(headers) == 0 {
		return nil
	}
	m := make(map[string]string, len(headers))
	for _, e := range headers {
		m[e.Name] = e.Value
	}
	return m
}

package message

import (
	"fmt"
	"slices"
	"strings"
)

// Header is one name and its value. Names are lower-case tokens.
type Header struct {
	Name, Value string
}

// Headers is a list sorted by name in which each name stands once.
type Headers []Header

// NewHeaders sorts the pairs of m. It does not check them; Check does.
func NewHeaders(m map[string]string) Headers {
	if len(m) == 0 {
		return nil
	}
	h := make(Headers, 0, len(m))
	for name, value := range m {
		h = append(h, Header{name, value})
	}
	slices.SortFunc(h, func(a, b Header) int { return strings.Compare(a.Name, b.Name) })
	return h
}

// Get returns the value of name and whether it is there.
func (h Headers) Get(name string) (string, bool) {
	i, ok := slices.BinarySearchFunc(h, name, func(e Header, n string) int { return strings.Compare(e.Name, n) })
	if !ok {
		return "", false
	}
	return h[i].Value, true
}

// Bytes is the size of all names and values, which MaxHeadersBytes bounds.
func (h Headers) Bytes() (n int) {
	for _, e := range h {
		n += len(e.Name) + len(e.Value)
	}
	return n
}

// Check refuses headers that break a limit, are unsorted or repeat a name.
func (h Headers) Check() error {
	if len(h) > MaxHeaders {
		return fmt.Errorf("%d headers: %w, at most %d", len(h), ErrName, MaxHeaders)
	}
	if n := h.Bytes(); n > MaxHeadersBytes {
		return fmt.Errorf("%d bytes of headers: %w, at most %d", n, ErrName, MaxHeadersBytes)
	}
	for i, e := range h {
		if !spell(e.Name, MaxHeaderNameBytes, headerBytes, headerBytes) {
			return fmt.Errorf("header name %q: %w, use a lower-case token of 1 to %d bytes", clip(e.Name), ErrName, MaxHeaderNameBytes)
		}
		if i > 0 && h[i-1].Name >= e.Name {
			return fmt.Errorf("header %q: %w, names are sorted and stand once", e.Name, ErrName)
		}
	}
	return nil
}

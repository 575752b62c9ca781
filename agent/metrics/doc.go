// Package metrics tells the figures of an agent to those who watch it: as metrics of Prometheus, and the same numbers as
// JSON. It keeps none of its own: each look reads the snapshots that spool and links publish anyway. Every label value is a
// name of the configuration or a word of this package, never one that came from outside, and their number is bounded.
package metrics

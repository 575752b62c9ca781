// Package config reads the one YAML file of an agent. It finds every mistake of the file in one run and tells each with its
// place, what is allowed and what was probably meant. Defaults stand beside the code that uses the options; checks that
// span packages stand here. It opens nothing but the file, and nothing below the agent knows it.
package config

import (
	"maps"
	"slices"
	"time"

	"drawbridge/link"
	"drawbridge/spool"
)

// Config is a file that has passed every check, with defaults filled in.
type Config struct {
	// Agent is the name this agent gives to messages stored here. Default: the host's name up to its first dot.
	Agent string
	// DataDir is the absolute path of the directory of spool and identity.
	DataDir string
	Listen  Listen
	// Queues holds each queue's options by its name. Route and Remember are left empty: they follow from the links, and the
	// agent computes them.
	Queues map[string]spool.QueueOptions
	// Volatile holds the names of the queues that lie in memory only. None of them is named by a link.
	Volatile []string
	// Links holds each link by its name, which is this side's word for the peer.
	Links map[string]Link
	// LedgerMemoryBytes bounds the memory that remembers ids. Default 64 MiB.
	LedgerMemoryBytes int
	// LedgerMaxBytes bounds what of the spool's file remembers ids. Default 1 GiB.
	LedgerMaxBytes uint64
	// LedgerMaxWindow is the longest that ids are promised to a peer whose queue here goes by ids. Default 30 days.
	LedgerMaxWindow time.Duration
	// MemoryLimitBytes is what the process tries not to exceed, by collecting garbage more often. 0: no limit.
	MemoryLimitBytes uint64
	Log              Log
	// ShutdownGrace is how long frames in flight may still be answered after SIGTERM. Default 30s.
	ShutdownGrace time.Duration
}

// Listen says where the agent can be reached.
type Listen struct {
	// Link is the UDP host:port for peers. Empty: this agent only dials.
	Link string
	// API is the absolute path of the Unix socket for local programs.
	API string
	// Metrics is the TCP host:port for metrics and health; empty for none. It is a loopback address unless MetricsTokenFile is
	// set.
	Metrics string
	// MetricsTokenFile is the absolute path of the file whose token Metrics asks for; empty if it asks for none.
	MetricsTokenFile string
}

// Link is one peer and what passes between it and this agent.
type Link struct {
	// PeerIDs are the one or two identities that the peer may prove; two while it changes its key.
	PeerIDs []link.Pin
	// Addresses are UDP host:port, the preferred one first. Empty: this side waits to be dialled.
	Addresses []string
	Send      []Send
	Receive   []Receive
	// IdleHeartbeat is how often an idle link is probed. 0 means the link's own default.
	IdleHeartbeat time.Duration
}

// Send is one route: messages of queue From leave for the peer's queue To.
type Send struct {
	From string
	To   string
	// Name is the route's name. Default: the link's name, a slash and To, so that moving a queue to another peer never
	// continues the old peer's route.
	Name string
	// RetryFor is the longest that one message is retried. 0 means without end.
	RetryFor time.Duration
}

// Receive is one right of the peer: it may ship into queue To.
type Receive struct {
	To string
}

// Log says what is logged, and how.
type Log struct {
	// Level is one of trace, debug, info, warn, error. Default info.
	Level string
	// Format is text or json. Default text.
	Format string
	// Levels holds the levels of single parts, by the names of LogParts. A part that is not there has Level.
	Levels map[string]string
}

// QueueNames returns the names of all queues, sorted.
func (c *Config) QueueNames() []string { return slices.Sorted(maps.Keys(c.Queues)) }

// LinkNames returns the names of all links, sorted.
func (c *Config) LinkNames() []string { return slices.Sorted(maps.Keys(c.Links)) }

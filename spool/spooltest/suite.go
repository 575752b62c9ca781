package spooltest

import (
	"testing"
	"testing/synctest"
	"time"

	"drawbridge/spool"
)

// Options are what a case asks of a store. An engine fills its own from them.
type Options struct {
	// Agent is the name of the agent the store is opened for.
	Agent  string
	Queues map[string]spool.QueueOptions
	// Now is the wall clock. It may step.
	Now func() time.Time
}

// Engine is what the suite has to know of the engine under test.
type Engine struct {
	// Open opens the store that lives in dir, which is empty at first. A store that was closed is opened again in the same
	// dir; an engine that is not durable begins anew.
	Open func(dir string, o Options) (spool.Store, error)
	// Audit compares what is left in dir after Close with what the store said of itself just before, and reports what
	// differs. Nil if nothing is left that could be looked at.
	Audit func(t testing.TB, dir string, said []spool.QueueStats)
}

// testCase is one sentence of the specification.
type testCase struct {
	name string
	// queues are those of the store; nil stands for one local queue, orders.
	queues map[string]spool.QueueOptions
	// restarts says that the case opens the store again and expects all to be there, forgets that it expects nothing to be.
	// Each is for engines of one kind.
	restarts, forgets bool
	run               func(s *store)
}

// Run holds the engine to the specification.
func Run(t *testing.T, e Engine) {
	durable := e.capabilities(t).Durable
	for _, topic := range []struct {
		name  string
		cases []testCase
	}{
		{"puts", puts()},
		{"ids", ids()},
		{"leases", leases()},
		{"receipts", receipts()},
		{"nacks", nacks()},
		{"requeues", requeues()},
		{"order", order()},
		{"peeks", peeks()},
		{"sessions", sessions()},
		{"arrivals", arrivals()},
		{"refusals", refusals()},
		{"closed numbers", closed()},
		{"floors", floors()},
		{"sent again", again()},
		{"by ids", byIDs()},
		{"windows", windows()},
		{"ledger", ledger()},
		{"outgoing", outgoing()},
		{"marks", marks()},
		{"ages", ages()},
		{"settling", settling()},
		{"burying", burying()},
		{"dead letters", deadLetters()},
		{"ids of dead letters", deadIDs()},
		{"seen", seen()},
		{"meta", meta()},
		{"stats", stats()},
		{"watch", watch()},
		{"restart", restart()},
		{"close", closing()},
	} {
		t.Run(topic.name, func(t *testing.T) {
			for _, c := range topic.cases {
				if c.restarts && !durable || c.forgets && durable {
					continue // the case is about engines of the other kind
				}
				t.Run(c.name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { e.run(t, c) })
				})
			}
		})
	}
}

func (e Engine) run(t *testing.T, c testCase) {
	s := &store{t: t, engine: e, dir: t.TempDir(), queues: c.queues}
	if s.queues == nil {
		s.queues = local()
	}
	s.open()
	defer s.close()
	c.run(s)
}

// capabilities asks a store that serves nothing else.
func (e Engine) capabilities(t *testing.T) spool.Capabilities {
	t.Helper()
	s := &store{t: t, engine: e, dir: t.TempDir(), queues: local()}
	s.open()
	defer s.close()
	return s.Capabilities()
}

// local is one queue with local consumers.
func local() map[string]spool.QueueOptions {
	return map[string]spool.QueueOptions{"orders": {}}
}

// routed is one queue that leaves by a route.
func routed(route string) map[string]spool.QueueOptions {
	return map[string]spool.QueueOptions{"orders": {Route: route}}
}

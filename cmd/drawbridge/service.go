package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/hashicorp/go-hclog"

	"drawbridge/agent"
	"drawbridge/spool"
)

// statusEvery is how often the words that a service manager shows are made anew. Each time the disk is tried, by a sync.
const statusEvery = 10 * time.Second

// service tells the service manager how the agent is, by the protocol of sd_notify. Where none listens it does nothing.
type service struct {
	log hclog.Logger
	// watchdog is after how long of silence the manager ends the agent; 0 if it does not watch.
	watchdog time.Duration
	// status was told last.
	status string
	// deaf is set once the manager could not be told: that is said once, and tried on.
	deaf bool
	// stuck says that the spool's committer did not answer when it was asked last.
	stuck bool
}

func newService(log hclog.Logger) *service {
	watchdog, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("watchdog of the service manager is off", "error", err)
	}
	return &service{log: log, watchdog: watchdog}
}

func (s *service) opening()         { s.tell("STATUS=opening the spool") }
func (s *service) failed(err error) { s.tell("STATUS=" + oneLine(err.Error())) }

// ready says that messages are taken.
func (s *service) ready(a *agent.Agent) {
	s.status = statusOf(a)
	s.tell(daemon.SdNotifyReady, "STATUS="+s.status)
}

// watch tells how the agent is until it has ended: in words, that it stops once ctx ends, and that the spool's committer
// still works, which alone feeds the watchdog. Draining is fed as well, it may last longer than the watchdog.
func (s *service) watch(ctx context.Context, a *agent.Agent, ended <-chan struct{}) {
	status := time.NewTicker(statusEvery)
	defer status.Stop()
	var feed <-chan time.Time
	if s.watchdog > 0 {
		// four chances a period: one that is late, for a commit in progress, must not be the last
		t := time.NewTicker(s.watchdog / 4)
		defer t.Stop()
		feed = t.C
		s.feed(a)
	}
	stop := ctx.Done()
	for {
		select {
		case <-ended:
			if stop != nil && ctx.Err() != nil {
				s.stopping() // an agent with nothing on its way has ended before anybody looked
			}
			return
		case <-stop:
			stop = nil
			s.stopping()
		case <-feed:
			s.feed(a)
		case <-status.C:
			if text := statusOf(a); ctx.Err() == nil && text != s.status {
				s.status = text
				s.tell("STATUS=" + text)
			}
		}
	}
}

func (s *service) stopping() {
	s.status = "stopping: messages on their way are answered"
	s.tell(daemon.SdNotifyStopping, "STATUS="+s.status)
}

// feed keeps the watchdog quiet if the committer answers.
func (s *service) feed(a *agent.Agent) {
	err := probe(a.Spool(), s.watchdog/4)
	if stuck := err != nil; stuck != s.stuck {
		s.stuck = stuck
		if stuck {
			s.log.Warn("spool does not answer the watchdog", "within", s.watchdog/4, "error", err)
		} else {
			s.log.Info("spool answers the watchdog again")
		}
	}
	if err == nil {
		s.tell(daemon.SdNotifyWatchdog)
	}
}

// probe asks the committer to settle nothing: that waits for its turn behind what is being committed, changes nothing and
// costs no sync. Only an answer in time counts, whatever it says: a disk that is full is answered too, and no restart would
// empty it.
func probe(store spool.Store, within time.Duration) error {
	ctx, end := context.WithTimeout(context.Background(), within)
	defer end()
	var route spool.Route
	if queues := store.Stats(); len(queues) > 0 {
		route = spool.Route{Queue: queues[0].Name, Name: "watchdog"}
	}
	err := store.SettleRoute(ctx, route, 0, nil)
	if ctx.Err() != nil || errors.Is(err, spool.ErrClosed) {
		return err
	}
	return nil
}

// statusOf says in a few words how the agent is.
func statusOf(a *agent.Agent) string {
	var messages uint64
	for _, q := range a.Spool().Stats() {
		messages += q.Messages
	}
	return fmt.Sprintf("%s; messages queued: %d", oneLine(a.Health().Verdict), messages)
}

// oneLine keeps an error from being read as further assignments.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// tell sends assignments in one datagram.
func (s *service) tell(assignments ...string) {
	if _, err := daemon.SdNotify(false, strings.Join(assignments, "\n")); err != nil && !s.deaf {
		s.deaf = true
		s.log.Warn("service manager cannot be told", "error", err)
	}
}

package agenttest

import (
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

// node is a host of a trial with the one who makes it trouble.
type node struct {
	*Host
	trial *trial
	disk  *disk
	dice  dice
	// drift keeps what all hosts do at one time apart, so that a replay does it in the same order.
	drift time.Duration

	mu    sync.Mutex // guards what follows
	store spool.Store
	// off is by how much the wall clock is wrong.
	off time.Duration
}

func newNode(t *trial, name, addr string) *node {
	d := newDice(t.seed, "host "+name)
	n := &node{trial: t, dice: d, drift: time.Duration(1+len(t.nodes)) * time.Millisecond, disk: newDisk(newDice(t.seed, "disk "+name))}
	n.Host = newHostIn(t.t, t.net, name, addr, t.directory(name))
	n.hook, n.now, n.dataConns = n.disk.pass, n.wallClock, t.draws.dataConns
	n.log = hclog.New(&hclog.LoggerOptions{Level: hclog.Info, Output: t.log.of(name), DisableTime: true})
	return n
}

func (n *node) name() string { return n.cfg.Agent }

func (n *node) wallClock() time.Time {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Add(n.off)
}

// spool returns the spool of the running agent, or nil.
func (n *node) spool() spool.Store {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.store
}

func (n *node) setStore(s spool.Store) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.store = s
}

// start starts the agent; an opening that the disk spoils is repeated.
func (n *node) start() {
	for {
		err := n.TryStart()
		if err == nil {
			break
		}
		n.trial.log.add(n.name(), "does not start: %v", err)
		n.disk.recover()
		time.Sleep(time.Second)
	}
	n.setStore(n.Spool())
}

// die ends the agent as SIGKILL does.
func (n *node) die() {
	n.disk.kill()
	n.setStore(nil)
	n.Crash()
}

// live makes trouble until over is closed, and leaves the agent running on a sound disk.
func (n *node) live(over <-chan struct{}) {
	defer n.trial.actors.Done()
	n.start()
	for {
		trouble := n.dice.after(n.trial.draws.troubleEvery)
		night, morning := n.trial.tonight()
		night += n.drift
		if !waitFor(over, min(trouble, night)) {
			return
		}
		if trouble < night {
			n.suffer(over, drawTrouble(n.dice))
			n.disk.recover()
			continue
		}
		n.trial.log.add(n.name(), "down for the night")
		n.die()
		waitFor(over, morning-night+2*n.drift)
		n.restart(over)
	}
}

// suffer is one trouble from its beginning to its end.
func (n *node) suffer(over <-chan struct{}, what trouble) {
	log := func(format string, args ...any) { n.trial.log.add(n.name(), format, args...) }
	switch what {
	case crashAtRandom:
		log("crash")
		n.die()
		n.restart(over)
	case crashAtPoint:
		point, passes := oneOf(n.dice, bolt.HookPoints()...), n.dice.IntN(20)
		log("will crash at %s, passed %d times before", point, passes)
		n.disk.dieAt(point, passes)
		if point == bolt.HookReopen {
			n.disk.sicken(0.2, 0) // only a failed commit leads there
		}
		select {
		case <-n.disk.died:
			log("crash at %s", point)
			n.die()
			n.restart(over)
		case <-n.Spool().Failed():
			n.giveUp(over)
		case <-n.later(n.dice.after(time.Hour)):
		case <-over:
		}
	case orderlyRestart:
		log("stop")
		n.setStore(nil)
		n.Stop()
		n.restart(over)
	case failingCommits, slowDisk:
		failing, slow := n.dice.Float64()*0.5, time.Duration(0)
		if what == slowDisk {
			failing, slow = 0, n.dice.between(10*time.Millisecond, 5*time.Second)
		}
		log("commits fail in %.2f of all steps and take up to %s", failing, slow)
		n.disk.sicken(failing, slow)
		select {
		case <-n.Spool().Failed():
			n.giveUp(over)
		case <-n.later(n.dice.between(time.Second, n.trial.draws.longestDisease)):
		case <-over:
		}
		log("the disk is sound")
	}
}

// giveUp is the end of an agent whose spool did not open again: somebody has to start it anew.
func (n *node) giveUp(over <-chan struct{}) {
	n.trial.log.add(n.name(), "the agent has given up")
	n.die()
	n.restart(over)
}

// restart starts the agent again, after a while and perhaps with another clock, which an operator then accepts or not.
func (n *node) restart(over <-chan struct{}) {
	waitFor(over, n.dice.between(10*time.Millisecond, n.trial.draws.longestDown))
	if step := drawClockStep(n.dice); step != 0 {
		n.mu.Lock()
		n.off += step
		n.mu.Unlock()
		n.trial.log.add(n.name(), "the wall clock has stepped by %s", step)
	}
	n.disk.recover()
	if n.dice.chance(0.2) {
		n.disk.dieAt(bolt.HookOpenEpoch, 0)
	}
	n.start()
	n.trial.log.add(n.name(), "started")
	if n.dice.chance(0.5) {
		n.acceptClock(over)
	}
}

// acceptClock accepts a jump of time when all tries of producers from before it have ended, if that is before the night.
func (n *node) acceptClock(over <-chan struct{}) {
	night, _ := n.trial.tonight()
	if night > 2*patience && waitFor(over, 2*patience) {
		n.AcceptClock()
	}
}

// later tells when d has passed, or when the night begins.
func (n *node) later(d time.Duration) <-chan time.Time {
	night, _ := n.trial.tonight()
	return time.After(min(d, night))
}

// waitFor returns false if over is closed before d has passed.
func waitFor(over <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-over:
		return false
	}
}

package agenttest

import "time"

// wire is the way between two hosts of a trial.
type wire struct {
	trial *trial
	a, b  *node
	dice  dice
}

// blow makes weather until over is closed, and leaves fair weather behind.
func (w *wire) blow(over <-chan struct{}) {
	defer w.trial.actors.Done()
	name := "wire " + w.a.name() + "-" + w.b.name()
	net, d := w.trial.net, &w.trial.draws
	for waitFor(over, w.dice.after(d.outageEvery)) {
		from, to := w.a.addr, w.b.addr
		if w.dice.chance(0.5) {
			from, to = to, from
		}
		if w.dice.chance(0.3) {
			f := drawFaults(w.dice)
			w.trial.log.add(name, "from %s: %+v", from, f)
			net.SetFaults(from, to, f)
			continue
		}
		lasts := w.dice.between(time.Second, d.longestOutage)
		if w.dice.chance(d.oneWay) {
			w.trial.log.add(name, "cut from %s for %s", from, lasts)
			net.Cut(from, to)
		} else {
			w.trial.log.add(name, "cut for %s", lasts)
			net.CutBoth(from, to)
		}
		waitFor(over, lasts)
		net.HealBoth(from, to)
		w.trial.log.add(name, "healed")
	}
	fair := Faults{Delay: 10 * time.Millisecond}
	net.SetFaults(w.a.addr, w.b.addr, fair)
	net.SetFaults(w.b.addr, w.a.addr, fair)
}

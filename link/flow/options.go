package flow

import "time"

// Options are the settings of a Lane. A zero field means its default.
type Options struct {
	// BatchBytes bounds the records of one batch; a larger message travels alone. Default 64 KiB.
	BatchBytes int
	// BatchMessages bounds their number. Default 512.
	BatchMessages int
	// ResendAfter is how long the lane waits for any answer before it ships the lowest unanswered batch again; the wait
	// doubles up to ResendMax until an answer comes. Defaults 1s and 30s.
	ResendAfter, ResendMax time.Duration
	// Probe is how long a held lane waits before it tries its lowest message alone; the wait doubles up to ProbeMax.
	// Defaults 1s and 30s.
	Probe, ProbeMax time.Duration
}

func (o Options) withDefaults() Options {
	setDefault(&o.BatchBytes, 64<<10)
	setDefault(&o.BatchMessages, 512)
	setDefault(&o.ResendAfter, time.Second)
	setDefault(&o.ResendMax, 30*time.Second)
	setDefault(&o.Probe, time.Second)
	setDefault(&o.ProbeMax, 30*time.Second)
	return o
}

func setDefault[T int | time.Duration](field *T, value T) {
	if *field <= 0 {
		*field = value
	}
}

// wait is a time between two tries that doubles with each try, up to a bound.
type wait struct {
	base, max time.Duration
	tries     int
}

// now returns the present wait.
func (w *wait) now() time.Duration {
	d := w.base
	for range w.tries {
		if d >= w.max/2 {
			return w.max
		}
		d *= 2
	}
	return min(d, w.max)
}

// grow lengthens it. Tries are bounded so that a month of them costs now no more than a minute of them.
func (w *wait) grow() { w.tries = min(w.tries+1, 40) }

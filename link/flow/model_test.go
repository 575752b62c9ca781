package flow_test

import (
	"time"

	"drawbridge/link/flow"
	"drawbridge/message"
)

// model is a lane without cleverness: one list that only grows, searched from end to end for every question.
type model struct {
	o       flow.Options
	grant   flow.Grant
	bytes   uint64
	through map[message.StreamID]uint64
	list    []modelItem

	begun  bool
	quiet  time.Time
	silent time.Duration

	route   modelHold
	refused modelHold
	at      int // index of the refused item
	serial  int
	ramp    int
}

type modelItem struct {
	flow.Item
	ended, ever, now bool           // now: shipped in this session
	closing          message.Reason // why it is to be closed, though its Until is to come
	closed           bool           // it left as a Close last
	via              int            // connection it is under way on, -1 if it waits
	batch            int
	first            time.Time
}

type modelHold struct {
	on   bool
	next time.Time
	wait time.Duration
}

func newModel(o flow.Options) *model {
	return &model{o: o, through: map[message.StreamID]uint64{}, silent: o.ResendAfter}
}

func (m *model) offer(list []flow.Item) {
	for _, it := range list {
		m.list = append(m.list, modelItem{Item: it, via: -1})
	}
}

func (m *model) begin(now time.Time, g flow.Grant) {
	m.begun, m.grant, m.bytes, m.quiet, m.silent = true, g, g.Bytes, now, m.o.ResendAfter
	m.ramp = 0
	clear(m.through)
	for i := range m.list {
		m.list[i].now, m.list[i].via = false, -1
	}
	m.route, m.refused = modelHold{}, modelHold{}
}

func (m *model) lowest() int {
	for i := range m.list {
		if !m.list[i].ended {
			return i
		}
	}
	return -1
}

func (m *model) unanswered() (messages int, bytes int, oldest time.Time) {
	for _, it := range m.list {
		if it.now && !it.ended {
			if messages == 0 {
				oldest = it.first
			}
			messages++
			bytes += it.Bytes
		}
	}
	return messages, bytes, oldest
}

func (m *model) credits(it modelItem, messages, bytes int) bool {
	through, credited := m.through[it.Stream]
	switch {
	case messages == 0:
		return true
	case credited && it.Number > through, !credited && uint64(messages) >= m.grant.Messages:
		return false
	}
	return uint64(bytes+it.Bytes) <= m.bytes
}

// pick says which items the next batch holds.
func (m *model) pick(now time.Time) (picked []int) {
	head := m.lowest()
	if !m.begun || head < 0 {
		return nil
	}
	messages, bytes, _ := m.unanswered()
	for _, h := range []*modelHold{&m.route, &m.refused} {
		if !h.on || h == &m.refused && m.at != head {
			continue
		}
		if now.Before(h.next) {
			return nil
		}
		h.wait = min(2*h.wait, m.o.ProbeMax)
		h.next = now.Add(h.wait)
		return []int{head}
	}

	size := 0
	sizeOf := func(it modelItem) int {
		if it.cause(now) != "" {
			return 300
		}
		return it.Bytes
	}
	fits := func(it modelItem) bool {
		return len(picked) == 0 || len(picked) < m.o.BatchMessages && size+sizeOf(it) <= m.o.BatchBytes &&
			it.Stream == m.list[picked[0]].Stream && it.closes(now) == m.list[picked[0]].closes(now) && (!it.closes(now) || len(picked) < 128)
	}
	ramps := func(i int) bool {
		under := len(picked)
		for _, it := range m.list {
			if !it.ended && it.via >= 0 {
				under++
			}
		}
		return m.ramp == 0 || i == head || under < m.ramp
	}
	for i, it := range m.list {
		if m.refused.on && i >= m.at {
			break
		}
		if it.ended || !it.now || it.via >= 0 {
			continue
		}
		if !fits(it) || !ramps(i) {
			break
		}
		picked, size = append(picked, i), size+sizeOf(it)
	}
	if len(picked) > 0 {
		return picked
	}

	if m.list[head].now && !now.Before(m.quiet.Add(m.silent)) {
		for i, it := range m.list {
			if !it.ended && it.now && it.via >= 0 && it.batch == m.list[head].batch {
				if !fits(it) {
					break
				}
				picked, size = append(picked, i), size+sizeOf(it)
			}
		}
		m.silent = min(2*m.silent, m.o.ResendMax)
		return picked
	}

	if m.refused.on {
		return nil
	}
	records := 0
	for i, it := range m.list {
		if it.ended || it.now {
			continue
		}
		if !fits(it) || !ramps(i) || !m.credits(it, messages+len(picked), bytes+records) {
			break
		}
		picked, size, records = append(picked, i), size+sizeOf(it), records+it.Bytes
	}
	return picked
}

func (m *model) next(now time.Time, via int) (b flow.Batch, ok bool) {
	picked := m.pick(now)
	if len(picked) == 0 {
		return b, false
	}
	m.serial++
	if picked[0] == m.lowest() {
		m.quiet = now
	}
	for _, i := range picked {
		it := &m.list[i]
		s := flow.Shipment{Number: it.Number, Bytes: it.Bytes, Cause: it.cause(now)}
		it.closed = it.closes(now)
		b.Closing = it.closed
		for _, lower := range m.list[:i] {
			if !lower.ended {
				s.Prev = lower.Place
			}
		}
		if it.ever {
			b.Resent++
		}
		if !it.now {
			it.first = now
		}
		it.ever, it.now, it.via, it.batch = true, true, via, m.serial
		b.Stream, b.Items, b.Bytes = it.Stream, append(b.Items, s), b.Bytes+it.Bytes
	}
	return b, true
}

func (m *model) giveBack(from int, which func(modelItem) bool) {
	for i := from; i < len(m.list); i++ {
		if which(m.list[i]) {
			m.list[i].via = -1
		}
	}
}

func (m *model) answered(now time.Time, stream message.StreamID, ranges []message.Range) map[uint64]bool {
	ended := map[uint64]bool{}
	for i := range m.list {
		it := &m.list[i]
		for _, r := range ranges {
			if it.Stream == stream && it.Number >= r.First && it.Number <= r.Last && it.ever && !it.ended {
				it.ended = true
				ended[it.Number] = true
			}
		}
	}
	if len(ended) > 0 {
		if m.route.on {
			m.ramp = 1
		}
		if m.ramp > 0 {
			m.ramp += len(ended)
		}
		m.quiet, m.silent = now, m.o.ResendAfter
		m.route = modelHold{}
		if m.refused.on && m.list[m.at].ended {
			m.refused = modelHold{}
		}
	}
	return ended
}

func (m *model) hold(now time.Time) {
	if !m.route.on {
		m.route = modelHold{true, now.Add(m.o.Probe), m.o.Probe}
		m.giveBack(0, func(modelItem) bool { return true })
	}
}

// cause is why the item is to be closed at now, empty if it is not.
func (it modelItem) cause(now time.Time) message.Reason {
	if it.closing == "" && !it.Until.IsZero() && !now.Before(it.Until) {
		return it.Cause
	}
	return it.closing
}

func (it modelItem) closes(now time.Time) bool { return it.cause(now) != "" }

func (m *model) close(now time.Time, stream message.StreamID, r message.Range, cause message.Reason) {
	for i := range m.list {
		it := &m.list[i]
		if it.Stream != stream || it.Number < r.First || it.Number > r.Last || it.ended {
			continue
		}
		if it.closing = it.cause(now); it.closing == "" {
			it.closing = cause
		}
		if it.now && !it.closed {
			it.via = -1
		}
	}
}

func (m *model) holdAt(now time.Time, stream message.StreamID, number uint64) {
	for i, it := range m.list {
		if it.Stream != stream || it.Number != number || it.ended || !it.now {
			continue
		}
		if !m.refused.on || i < m.at {
			m.refused, m.at = modelHold{true, now.Add(m.o.Probe), m.o.Probe}, i
			m.giveBack(i, func(modelItem) bool { return true })
		}
		return
	}
}

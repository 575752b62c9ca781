package agenttest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"drawbridge/message/history"
	"drawbridge/spool"
)

const (
	// patience is how long a producer repeats a put that gets no answer.
	patience = 30 * time.Minute
	// callTimeout turns silence into no answer.
	callTimeout = 10 * time.Second
	// repeatWithin is how long after a put the same id may be put again on purpose: it is known for a day.
	repeatWithin = time.Hour
)

// place is a queue of a host.
type place struct {
	node  *node
	queue string
}

func (p place) String() string { return p.node.name() + "/" + p.queue }

// producer puts bursts into one queue, each burst in one call, the next when the one before has its answer.
type producer struct {
	trial *trial
	at    place
	index int
	dice  dice
	turn  int
	// puts belongs to the producer until it has returned.
	puts []history.Put
}

func (p *producer) work(over <-chan struct{}) {
	defer p.trial.actors.Done()
	for waitFor(over, p.dice.after(p.trial.draws.burstEvery)) {
		if p.trial.deepNight() {
			continue // all its tries would end before anybody hears them
		}
		burst := make([]spool.Put, 1+p.dice.IntN(p.trial.draws.burst))
		first := len(p.puts)
		for i := range burst {
			burst[i] = p.next(p.puts[:first])
		}
		p.store(over, burst, p.puts[first:])
	}
}

// next makes one put and notes it: a new message mostly, now and then an id of before.
func (p *producer) next(before []history.Put) spool.Put {
	turn := p.turn
	p.turn++
	id := fmt.Sprintf("%s-%d-%d", p.at, p.index, turn)
	body := bodyOf(id)
	priority := oneOf[uint8](p.dice, 4, 4, 4, 0, 9)
	if p.dice.chance(p.trial.draws.repeats) && len(before) > 0 {
		old := before[len(before)-1-p.dice.IntN(min(len(before), 10))]
		if time.Since(old.BeganAt) < repeatWithin && old.Heard == history.Stored {
			id, priority = old.ID, old.Priority
			if body = bodyOf(id); p.dice.chance(0.5) {
				body = append(body, " of another content"...)
			}
		}
	}
	p.puts = append(p.puts, history.Put{
		ID: id, Producer: p.index, Turn: turn, Queue: p.at.String(), Priority: priority, Sum: history.SumOf(body), BeganAt: time.Now(),
	})
	return spool.Put{Queue: p.at.queue, ID: id, Priority: priority, Body: body}
}

// bodyOf returns bytes of a length that follows from the id: some dozen mostly, now and then some thousand.
func bodyOf(id string) []byte {
	body := []byte("body of " + id)
	sum := history.SumOf(body)
	length := int(sum[0])
	if sum[1] < 16 {
		length = int(sum[2]) << 8
	}
	for len(body) < length {
		body = append(body, sum[len(body)%len(sum)])
	}
	return body
}

// store puts a burst until each message has an answer or patience has run out.
func (p *producer) store(over <-chan struct{}, burst []spool.Put, notes []history.Put) {
	began, pause := time.Now(), time.Second
	for tries := 1; ; tries++ {
		results, err := p.call(burst)
		if err == nil {
			counts := make(map[spool.PutStatus]int)
			for i, r := range results {
				notes[i].Heard = heard(r)
				counts[r.Status]++
			}
			p.trial.log.add("producer", "%s: %d of %s after %d tries: %v", p.at, len(burst), notes[0].ID, tries, counts)
			return
		}
		if time.Since(began) > patience || !waitFor(over, pause) {
			p.trial.log.add("producer", "%s: %d of %s given up after %d tries: %v", p.at, len(burst), notes[0].ID, tries, err)
			return
		}
		pause = min(2*pause, time.Minute)
	}
}

var errDown = errors.New("the agent does not run")

func (p *producer) call(burst []spool.Put) ([]spool.PutResult, error) {
	store := p.at.node.spool()
	if store == nil {
		return nil, errDown
	}
	ctx, end := context.WithTimeout(context.Background(), callTimeout)
	defer end()
	return store.Put(ctx, burst)
}

func heard(r spool.PutResult) history.Heard {
	switch r.Status {
	case spool.Stored:
		return history.Stored
	case spool.Duplicate, spool.DuplicateDead:
		return history.Duplicate
	case spool.Conflict:
		return history.Conflict
	case spool.Rejected:
		return history.Refused
	}
	panic(fmt.Sprintf("agenttest: status %d of a put", r.Status))
}

package agenttest

import (
	"context"
	"strings"

	"drawbridge/message"
	"drawbridge/message/history"
)

// operator gives dead letters of one host another life, now and then.
type operator struct {
	trial *trial
	node  *node
	dice  dice
	// requeued belongs to the operator until it has returned.
	requeued []history.Requeue
}

func (o *operator) work(over <-chan struct{}) {
	defer o.trial.actors.Done()
	for waitFor(over, o.dice.after(o.trial.draws.operatorEvery)) {
		o.round()
	}
}

// round requeues some of the dead letters of one queue.
func (o *operator) round() {
	store := o.node.spool()
	if store == nil {
		return
	}
	var queues []string
	for _, q := range store.Stats() {
		if isDead(q.Name) && q.Messages > 0 {
			queues = append(queues, q.Name)
		}
	}
	if len(queues) == 0 {
		return
	}
	dead := oneOf(o.dice, queues...)
	ctx, end := context.WithTimeout(context.Background(), callTimeout)
	defer end()
	letters, err := store.Peek(ctx, dead, 0, 1+o.dice.IntN(100))
	if err != nil {
		o.trial.log.add("operator", "%s/%s: cannot look: %v", o.node.name(), dead, err)
		return
	}
	var sequences []uint64
	first := len(o.requeued)
	for _, m := range letters {
		if o.dice.chance(0.3) || m.Death == nil {
			continue
		}
		sequences = append(sequences, m.Sequence)
		o.requeued = append(o.requeued, history.Requeue{
			ID: m.ID, Generation: m.Generation, Queue: o.node.name() + "/" + m.Death.Queue, Reason: m.Death.Reason,
		})
	}
	if len(sequences) == 0 {
		return
	}
	results, err := store.Requeue(ctx, strings.TrimSuffix(dead, message.DeadSuffix), sequences)
	o.trial.log.add("operator", "%s/%s: %d requeued: %v", o.node.name(), dead, len(sequences), err)
	if err != nil {
		return
	}
	for i := range sequences {
		o.requeued[first+i].Done = results[i] == nil
	}
}

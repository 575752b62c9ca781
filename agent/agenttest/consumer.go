package agenttest

import (
	"context"
	"time"

	"drawbridge/message/history"
	"drawbridge/spool"
)

// consumer takes what arrives in one queue, one call after the other.
type consumer struct {
	trial *trial
	at    place
	dice  dice
}

func (c *consumer) work(over <-chan struct{}) {
	defer c.trial.takers.Done()
	for waitFor(over, c.dice.after(c.trial.draws.consumerPause)) {
		c.round(true)
	}
	// All troubles have ended: what is still there is taken and acked, and nobody dies.
	for !c.trial.drained.Load() {
		if !c.round(false) {
			time.Sleep(10 * time.Second)
		}
	}
}

// round leases once and settles what it got, in trouble in one way or the other, or dies before it does. It tells whether
// there was anything.
func (c *consumer) round(trouble bool) bool {
	store := c.at.node.spool()
	if store == nil {
		return false
	}
	ctx, end := context.WithTimeout(context.Background(), callTimeout)
	defer end()
	got, err := store.Lease(ctx, spool.LeaseRequest{Queue: c.at.queue, Max: 1 + c.dice.IntN(200)})
	if err != nil || len(got) == 0 {
		return false
	}
	dies := trouble && c.dice.chance(c.trial.draws.consumerDies)
	settlements := make([]spool.Settlement, len(got))
	for i, d := range got {
		s := spool.Settlement{Receipt: d.Receipt, Act: spool.Ack}
		if trouble {
			s = drawSettlement(c.dice, &c.trial.draws, d.Receipt)
		}
		settlements[i] = s
		c.trial.see(history.Sight{
			ID: d.ID, Generation: d.Generation, Queue: c.at.String(), Sequence: d.Sequence, Attempt: d.Deliveries,
			Kept: dies || s.Act == spool.Nack || s.Act == spool.Bury, Sum: history.SumOf(d.Body), At: time.Now(),
		})
	}
	c.trial.log.add("consumer", "%s: %d from %s, dies: %t", c.at, len(got), got[0].ID, dies)
	if dies {
		return true
	}
	extended := c.settle(got, settlements)
	if len(extended) > 0 {
		c.ackLate(extended)
	}
	return true
}

// settle makes one call, and returns the deliveries whose leases it has extended.
func (c *consumer) settle(got []spool.Delivery, settlements []spool.Settlement) (extended []spool.Delivery) {
	store := c.at.node.spool()
	if store == nil {
		return nil
	}
	ctx, end := context.WithTimeout(context.Background(), callTimeout)
	defer end()
	results, err := store.Settle(ctx, settlements)
	if err != nil {
		c.trial.log.add("consumer", "%s: no answer to settlements: %v", c.at, err)
		return nil
	}
	for i, d := range got {
		switch act := settlements[i].Act; {
		case results[i].Err != nil:
			c.trial.log.add("consumer", "%s: act %d on %s: %v", c.at, act, d.ID, results[i].Err)
		case act == spool.Ack:
			c.trial.see(history.Sight{ID: d.ID, Generation: d.Generation, Queue: c.at.String(), Sequence: d.Sequence, Acked: true})
		case act == spool.Extend:
			extended = append(extended, d)
		}
	}
	return extended
}

// ackLate acks after a while, now and then after the extended leases have run out too.
func (c *consumer) ackLate(extended []spool.Delivery) {
	time.Sleep(c.dice.between(time.Second, 2*extension))
	acks := make([]spool.Settlement, len(extended))
	for i, d := range extended {
		acks[i] = spool.Settlement{Receipt: d.Receipt, Act: spool.Ack}
	}
	c.settle(extended, acks)
}

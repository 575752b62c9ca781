package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"drawbridge/api"
	"drawbridge/client"
)

func takeCommand(g *globals) *cobra.Command {
	t := taker{globals: g}
	cmd := &cobra.Command{
		Use:   "take QUEUE",
		Short: "Take messages off a queue; acks each after its body was written out",
		Long: `take leases messages, writes their bodies to the standard output and then acks them.
A message whose body could not be written comes back when its lease has run out.

One message is written byte for byte. With --max above 1 or --follow a newline follows each
body that has none. With -o json each message is one line with all that is known of it.
Exit code 3 says that nothing was there.`,
		Example: `  drawbridge take orders --wait 30s
  drawbridge take orders --follow -o json | while read -r line; do …; done`,
		Args: arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if t.max < 1 {
				return usageOf(cmd, fmt.Errorf("--max %d: use 1 or more", t.max))
			}
			if t.follow && (cmd.Flags().Changed("wait") || cmd.Flags().Changed("max")) {
				return usageOf(cmd, errors.New("--follow takes all that comes: leave out --max and --wait"))
			}
			agent, err := g.agent()
			if err != nil {
				return err
			}
			defer agent.Close()
			t.agent, t.queue = agent, args[0]
			if t.follow {
				return t.run(cmd.Context())
			}
			return t.once(cmd.Context())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&t.max, "max", 1, "take up to so many messages")
	flags.DurationVar(&t.wait, "wait", 0, "how long to wait for the first message, up to 10m")
	flags.BoolVar(&t.noAck, "no-ack", false, "leave the messages leased; their receipts are shown")
	flags.BoolVar(&t.follow, "follow", false, "go on until interrupted, also while the agent restarts")
	return cmd
}

// taker is one run of take.
type taker struct {
	*globals
	agent         *client.Client
	queue         string
	max           int
	wait          time.Duration
	noAck, follow bool
}

// maxBatch keeps what is leased small beside what a slow reader of the output can take before the leases run out.
const maxBatch = 64

// once takes up to max messages, waiting for the first only.
func (t *taker) once(ctx context.Context) error {
	taken := 0
	for wait := t.wait; taken < t.max; wait = 0 {
		n, err := t.batch(ctx, client.Lease{Max: min(t.max-taken, maxBatch), Wait: wait})
		taken += n
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	if taken == 0 {
		return errNothing
	}
	return nil
}

const (
	followWait  = time.Minute
	followRetry = time.Second
)

// run takes all that comes until it is interrupted. Once it has reached the agent, it waits for it to come back.
func (t *taker) run(ctx context.Context) error {
	reached, waiting := false, false
	for ctx.Err() == nil {
		_, err := t.batch(ctx, client.Lease{Max: maxBatch, Wait: followWait})
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			reached, waiting = true, false
			continue
		case !reached || !passing(err):
			return err
		}
		if !waiting {
			fmt.Fprintf(t.stderr, "drawbridge: %v; trying again each second\n", err)
			waiting = true
		}
		select {
		case <-time.After(followRetry):
		case <-ctx.Done():
		}
	}
	return nil
}

// passing tells errors that end by themselves when the agent is back.
func passing(err error) bool {
	var answered *client.Error
	return errors.Is(err, client.ErrUnreachable) || errors.Is(err, client.ErrUnknown) ||
		errors.As(err, &answered) && answered.Code == api.CodeStopping
}

// batch takes what one lease gives: writes it out, then acks what was written.
func (t *taker) batch(ctx context.Context, l client.Lease) (taken int, err error) {
	deliveries, err := t.agent.Lease(ctx, t.queue, l)
	if err != nil {
		return 0, err
	}
	var receipts []string
	var failed error
	for i := range deliveries {
		if failed = t.write(&deliveries[i]); failed != nil {
			break
		}
		receipts = append(receipts, deliveries[i].Receipt)
	}
	if t.noAck || len(receipts) == 0 {
		return len(receipts), failed
	}
	// What was written out is acked also when the user has interrupted meanwhile: it would come a second time.
	results, err := t.agent.Ack(context.WithoutCancel(ctx), receipts...)
	if err != nil {
		return len(receipts), errors.Join(failed, err)
	}
	for i, res := range results {
		if res.Verdict != api.Acked && res.Verdict != api.AlreadySettled {
			fmt.Fprintf(t.stderr, "drawbridge: message %s: its receipt is %s; it may be handed out again\n", deliveries[i].ID, res.Verdict)
		}
	}
	return len(receipts), failed
}

func (t *taker) write(d *client.Delivery) error {
	if t.json() {
		return t.printLine(deliveryLine(d))
	}
	body := d.Body
	if (t.max > 1 || t.follow) && (len(body) == 0 || body[len(body)-1] != '\n') {
		body = append(body, '\n')
	}
	if _, err := t.stdout.Write(body); err != nil {
		return fmt.Errorf("write message %s: %w", d.ID, err)
	}
	if t.noAck {
		fmt.Fprintf(t.stderr, "receipt %s\n", d.Receipt)
	}
	return nil
}

func deliveryLine(d *client.Delivery) api.Delivery {
	line := api.Delivery{Message: messageLine(&d.Stored), Receipt: d.Receipt, LeaseMillis: d.LeaseFor.Milliseconds()}
	line.Death = d.Death
	return line
}

func messageLine(m *client.Stored) api.Message {
	return api.Message{
		ID:         m.ID,
		Queue:      m.Queue,
		Sequence:   m.Sequence,
		Origin:     m.Origin,
		Priority:   m.Priority,
		Key:        m.Key,
		QoS:        m.QoS.String(),
		StoredAt:   m.StoredAt,
		Headers:    m.Headers,
		Deliveries: m.Deliveries,
		Body:       api.NewBody(m.Body),
	}
}

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"drawbridge/api"
	"drawbridge/client"
	"drawbridge/message"
)

func putCommand(g *globals) *cobra.Command {
	var id, key string
	var priority uint8
	var headers []string
	cmd := &cobra.Command{
		Use:   "put QUEUE BODY|-|@FILE",
		Short: "Store one message; prints its id and the verdict",
		Long: `put stores one message and prints its id and the verdict: stored, duplicate,
id-conflict, refused or unknown. After unknown, repeat it with --id and the printed id:
that is safe, the message is stored once.

The body is the argument itself, the standard input (-) or a file (@FILE).`,
		Example: `  drawbridge put orders 'one crate' --header content-type=text/plain
  drawbridge put orders @order.json --id order-4711`,
		Args: arguments(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			m := client.Message{ID: id, Key: key}
			if priority > message.MaxPriority {
				return usageOf(cmd, fmt.Errorf("--priority %d: use 0 to %d", priority, message.MaxPriority))
			}
			if cmd.Flags().Changed("priority") {
				m.Priority = &priority
			}
			var err error
			if m.Headers, err = parseHeaders(headers); err != nil {
				return usageOf(cmd, err)
			}
			if m.Body, err = g.readBody(args[1]); err != nil {
				return err
			}
			agent, err := g.agent()
			if err != nil {
				return err
			}
			defer agent.Close()
			res, err := agent.Put(cmd.Context(), args[0], m)
			if errors.Is(err, client.ErrUnreachable) {
				return err
			}
			return errors.Join(g.printPut(res), putError(res, err))
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&id, "id", "", "the message's id, which makes a repetition safe (default: a new one)")
	flags.StringVar(&key, "key", "", "groups messages that belong together")
	flags.Uint8Var(&priority, "priority", message.DefaultPriority, "0 (last) to 9 (first)")
	flags.StringArrayVar(&headers, "header", nil, "NAME=VALUE, a message header; may be repeated")
	return cmd
}

func (g *globals) printPut(res api.PutResult) error {
	if g.json() {
		return g.printJSON(res)
	}
	_, err := fmt.Fprintln(g.stdout, res.ID, res.Verdict)
	return err
}

// putError keeps the verdict beside the error: a queue that does not exist is a refusal to a producer.
func putError(res api.PutResult, err error) error {
	if err == nil {
		return nil
	}
	return verdictError{res.Verdict, err}
}

func parseHeaders(pairs []string) (map[string]string, error) {
	headers := map[string]string{}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("--header %s: want NAME=VALUE", pair)
		}
		name = strings.ToLower(name)
		if _, twice := headers[name]; twice {
			return nil, fmt.Errorf("--header %s: given twice", name)
		}
		headers[name] = value
	}
	return headers, nil
}

func (g *globals) readBody(arg string) ([]byte, error) {
	if arg == "-" {
		body, err := io.ReadAll(g.stdin)
		if err != nil {
			return nil, fmt.Errorf("body from standard input: %w", err)
		}
		return body, nil
	}
	if path, ok := strings.CutPrefix(arg, "@"); ok {
		body, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("body: %w", err)
		}
		return body, nil
	}
	return []byte(arg), nil
}

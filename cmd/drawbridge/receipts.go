package main

import (
	"fmt"
	"slices"

	"drawbridge/api"
	"drawbridge/client"
)

// settle makes one call about receipts and prints its results. They are refusals together if one of them is none of the
// verdicts that are as good as wanted.
func (g *globals) settle(good []api.ReceiptVerdict, call func(agent *client.Client) ([]client.Settled, error)) error {
	agent, err := g.agent()
	if err != nil {
		return err
	}
	defer agent.Close()
	results, err := call(agent)
	if err != nil {
		return err
	}
	if err := g.printSettled(results); err != nil {
		return err
	}
	for _, res := range results {
		if !slices.Contains(good, res.Verdict) {
			return toldError{verdictError{api.VerdictRefused, fmt.Errorf("receipt %s is %s", res.Receipt, res.Verdict)}}
		}
	}
	return nil
}

func (g *globals) printSettled(results []client.Settled) error {
	if g.json() {
		lines := make([]api.ReceiptResult, len(results))
		for i, res := range results {
			lines[i] = receiptLine(res)
		}
		return g.printJSON(lines)
	}
	for _, res := range results {
		line := fmt.Sprint(res.Receipt, " ", res.Verdict)
		switch res.Verdict {
		case api.Nacked:
			line += fmt.Sprint(", waits ", res.WaitFor)
		case api.Extended:
			line += fmt.Sprint(", runs ", res.LeaseFor)
		}
		if _, err := fmt.Fprintln(g.stdout, line); err != nil {
			return err
		}
	}
	return nil
}

func receiptLine(res client.Settled) api.ReceiptResult {
	line := api.ReceiptResult{Receipt: res.Receipt, Verdict: res.Verdict}
	switch res.Verdict {
	case api.Nacked:
		line.WaitMillis = new(res.WaitFor.Milliseconds())
	case api.Extended:
		line.LeaseMillis = new(res.LeaseFor.Milliseconds())
	}
	return line
}

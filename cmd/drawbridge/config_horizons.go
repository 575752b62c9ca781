package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"drawbridge/api"
	"drawbridge/client"
	"drawbridge/config"
)

// horizonsWait bounds how long a check waits for an agent that does not answer.
const horizonsWait = 5 * time.Second

// refusals asks the running agent what its peers have announced, and returns what cfg would refuse of it. What could not be
// checked is said, and is no mistake of the file.
func (g *globals) refusals(ctx context.Context, path string, cfg *config.Config) config.Errors {
	links, err := g.runningLinks(ctx, cfg)
	if err != nil {
		if errors.Is(err, client.ErrUnreachable) {
			fmt.Fprintln(g.stderr, "no agent answers: what its peers have announced was not checked")
		} else {
			fmt.Fprintln(g.stderr, "what the peers of the agent have announced was not checked:", err)
		}
		return nil
	}
	var announced []config.Announced
	for i := range links {
		for j := range links[i].Receives {
			a, told := announcedOf(&links[i], &links[i].Receives[j])
			if told {
				announced = append(announced, a)
			} else if cfg.GoesByIDs(a) {
				fmt.Fprintf(g.stderr, "link %s has announced no horizon for queue %s, or an unbounded one, which would be refused there: it was not checked\n",
					links[i].Name, a.Queue)
			}
		}
	}
	return cfg.Refusals(path, announced)
}

// runningLinks asks the agent that the command line names, else the one that the file is of.
func (g *globals) runningLinks(ctx context.Context, cfg *config.Config) ([]api.Link, error) {
	socket := cfg.Listen.API
	if g.api != "" || g.getenv("DRAWBRIDGE_API") != "" {
		named, err := g.socket()
		if err != nil {
			return nil, err
		}
		socket = named
	}
	agent := client.New(socket)
	defer agent.Close()
	ctx, cancel := context.WithTimeout(ctx, horizonsWait)
	defer cancel()
	return agent.Links(ctx)
}

// announcedOf returns what the peer of a link has announced of a way in, and whether it has. An unbounded horizon looks like
// none; a peer that has shipped anything, or was refused, has announced.
func announcedOf(l *api.Link, in *api.LinkReceive) (a config.Announced, told bool) {
	a = config.Announced{
		Peer:    l.Peer,
		Queue:   in.Queue,
		Horizon: time.Duration(in.HorizonMillis) * time.Millisecond,
	}
	told = a.Horizon > 0 || in.Reason != "" || in.Accepted+in.Duplicates+in.Closed+in.Refused > 0
	return a, told
}

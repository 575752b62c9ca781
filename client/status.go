package client

import (
	"context"
	"fmt"

	"drawbridge/api"
)

// Queues returns the state of all queues, sorted by name.
func (c *Client) Queues(ctx context.Context) (queues []api.Queue, err error) {
	err = c.get(ctx, "ask for the queues", "/v1/queues", &queues)
	return queues, err
}

// Queue returns the state of one queue.
func (c *Client) Queue(ctx context.Context, name string) (queue api.Queue, err error) {
	path, err := queuePath(name, "")
	if err != nil {
		return queue, err
	}
	err = c.get(ctx, fmt.Sprintf("ask for queue %q", name), path, &queue)
	return queue, err
}

// Links returns the state of all links.
func (c *Client) Links(ctx context.Context) (links []api.Link, err error) {
	err = c.get(ctx, "ask for the links", "/v1/links", &links)
	return links, err
}

// Link returns the state of one link.
func (c *Client) Link(ctx context.Context, name string) (link api.Link, err error) {
	err = c.get(ctx, fmt.Sprintf("ask for link %q", name), "/v1/links/"+segment(name), &link)
	return link, err
}

// Health returns what the agent thinks of itself.
func (c *Client) Health(ctx context.Context) (health api.Health, err error) {
	err = c.get(ctx, "ask for health", "/health", &health)
	return health, err
}

// Info says which agent answers.
func (c *Client) Info(ctx context.Context) (info api.Info, err error) {
	err = c.get(ctx, "ask who answers", "/v1/info", &info)
	return info, err
}

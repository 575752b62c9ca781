package api

import "time"

// Health is what the agent thinks of itself.
type Health struct {
	// Ready says that the agent takes messages: its spool is open and it is not stopping.
	Ready bool `json:"ready"`
	// Verdict is the whole in words. It begins with "takes messages" or "takes no messages".
	Verdict string `json:"verdict"`
	// Reasons say why the agent takes no messages; empty while it does.
	Reasons []string `json:"reasons,omitempty"`
	// Checks are the parts, in a fixed order. A link that is down makes its check fail, not the agent unready: storing while
	// links are down is what the agent is for.
	Checks []HealthCheck `json:"checks"`
}

// HealthCheck is one part of the agent.
type HealthCheck struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Detail says what is wrong, or how well it goes.
	Detail string `json:"detail,omitempty"`
}

// Info says which agent answers.
type Info struct {
	Agent   string `json:"agent"`
	Version string `json:"version"`
	// Spool names the spool for its whole life; Epoch its present opening.
	Spool     string    `json:"spool"`
	Epoch     string    `json:"epoch"`
	StartedAt time.Time `json:"started_at"`
}

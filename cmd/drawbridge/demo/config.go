package demo

import (
	"bytes"
	"text/template"
)

// queue is what the messages of a demo cross in; replies lead the other way, for whoever keeps the agents and tries.
const (
	queue   = "crossing"
	replies = "replies"
)

// configText is the whole configuration of one agent: what an operator would write.
var configText = template.Must(template.New("config").Parse(`# Agent {{.Letter}} of a drawbridge demo.
agent: {{.Agent}}
data_dir: {{printf "%q" .DataDir}}
listen:
  link: "{{.Listen}}"
  api: {{printf "%q" .Socket}}
queues:
  crossing: { visibility_timeout: 3s }
  replies: { visibility_timeout: 3s }
links:
  {{.Peer.Link}}:
    peer_id: {{.Peer.Pin}}
{{- with .Address}}
    addresses: ["{{.}}"]
{{- end}}
    send: [{ from: {{.Sends}}, to: {{.Sends}} }]
    receive: [{ to: {{.Takes}} }]
`))

// side is one agent as its configuration describes it.
type side struct {
	Letter, Agent           string
	DataDir, Socket, Listen string
	// Address is where the peer is reached; empty for the side that waits.
	Address string
	// Link is what the peer calls the link to this agent; Pin is this agent's identity.
	Link, Pin    string
	Sends, Takes string
	Peer         *side
}

// config returns the text of the side's configuration file.
func (s *side) config() ([]byte, error) {
	var b bytes.Buffer
	err := configText.Execute(&b, s)
	return b.Bytes(), err
}

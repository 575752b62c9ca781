// Package protocol is what stands on the wire between two agents: the frames of version 1, one file each, their bytes and
// their bounds. It knows no connection, no queue and no clock. docs/protocol.md says the same in prose.
package protocol

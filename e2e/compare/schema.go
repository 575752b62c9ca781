package main

// schema is a queue in one table. An acked message keeps its row without a body, because its id must go on being known: a
// producer that did not hear the answer puts it again. Partial indexes hold what is ready and what is leased, so that
// neither grows with what has ended. Bodies stand in the row: a table of their own was slower, for it takes a statement more
// for each message.
const schema = `
CREATE TABLE IF NOT EXISTS messages (
	sequence   INTEGER PRIMARY KEY,
	queue      TEXT    NOT NULL,
	id         TEXT    NOT NULL,
	priority   INTEGER NOT NULL,
	sum        INTEGER NOT NULL,
	stored_at  INTEGER NOT NULL,
	state      INTEGER NOT NULL DEFAULT 0, -- 0 ready, 1 leased, 2 acked
	deliveries INTEGER NOT NULL DEFAULT 0,
	deadline   INTEGER,
	receipt    TEXT,
	headers    BLOB,
	body       BLOB,
	UNIQUE (queue, id)
);
CREATE INDEX IF NOT EXISTS ready  ON messages (queue, priority DESC, sequence) WHERE state = 0;
CREATE INDEX IF NOT EXISTS leased ON messages (deadline) WHERE state = 1;`

const (
	insertSQL = `
INSERT INTO messages (queue, id, priority, sum, stored_at, body) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (queue, id) DO NOTHING`

	sumSQL = `SELECT sum FROM messages WHERE queue = ? AND id = ?`

	expireSQL = `UPDATE messages SET state = 0, deadline = NULL, receipt = NULL WHERE state = 1 AND deadline <= ?`

	leaseSQL = `
UPDATE messages SET state = 1, deliveries = deliveries + 1, deadline = ?, receipt = ?
WHERE sequence IN (SELECT sequence FROM messages WHERE queue = ? AND state = 0 ORDER BY priority DESC, sequence LIMIT ?)
RETURNING sequence, id, deliveries, body`

	ackSQL = `
UPDATE messages SET state = 2, deadline = NULL, receipt = NULL, headers = NULL, body = NULL
WHERE sequence = ? AND receipt = ? AND state = 1 AND deadline > ?`

	liveSQL = `SELECT id, body FROM messages WHERE queue = ? AND state < 2 ORDER BY priority DESC, sequence`
)

package bolt

import (
	"encoding/binary"
	"fmt"

	"drawbridge/message"
	"drawbridge/message/pack"
)

// blobVersion is the first byte of every blob this program writes.
const blobVersion = 1

// blobHeadBytes is the fixed part of a blob, its sum included.
const blobHeadBytes = 1 + 1 + 8 + 8 + 8 + 4 + 4

// blob is the messages that one commit put into one lane of one queue, as they lie in the file:
//
//	version | lane | epoch counter | first sequence | spool time | count | CRC32C of all before | end of each record | records
//
// Words are big-endian, ends are counted from the first record. The sequences are first, first+1 and so on. Each record has
// checksums of its own. A blob shares memory with the transaction it was read in.
type blob struct {
	lane    uint8
	epoch   uint64
	first   uint64
	at      int64
	count   int
	ends    []byte
	records []byte
}

func appendBlobHead(b []byte, lane uint8, epoch, first uint64, at int64, records [][]byte) []byte {
	start := len(b)
	b = append(b, blobVersion, lane)
	b = pack.AppendUint64(b, epoch)
	b = pack.AppendUint64(b, first)
	b = pack.AppendUint64(b, uint64(at))
	b = pack.AppendUint32(b, uint32(len(records)))
	b = pack.AppendUint32(b, message.Checksum(b[start:]))
	end := uint32(0)
	for _, r := range records {
		end += uint32(len(r))
		b = pack.AppendUint32(b, end)
	}
	return b
}

// parseBlob reads head and ends and touches no record.
func parseBlob(b []byte) (g blob, err error) {
	r := pack.NewReader(b)
	if v := r.Byte(); r.Err() == nil && v != blobVersion {
		return g, fmt.Errorf("group: %w: version %d, this program reads %d", pack.ErrMalformed, v, blobVersion)
	}
	g.lane = r.Byte()
	g.epoch = r.Uint64()
	g.first = r.Uint64()
	g.at = int64(r.Uint64())
	g.count = int(r.Uint32())
	sum := r.Uint32()
	if err := r.Err(); err != nil {
		return g, fmt.Errorf("group: %w", err)
	}
	if message.Checksum(b[:blobHeadBytes-4]) != sum {
		return g, fmt.Errorf("group head: %w", message.ErrCorrupt)
	}
	rest := r.Rest()
	if g.count == 0 || len(rest)/4 < g.count {
		return g, fmt.Errorf("group of %d: %w", g.count, pack.ErrTruncated)
	}
	g.ends, g.records = rest[:4*g.count], rest[4*g.count:]
	return g, nil
}

func (g *blob) end(i int) int {
	if i < 0 {
		return 0
	}
	return int(binary.BigEndian.Uint32(g.ends[4*i:]))
}

// size is the size of record i.
func (g *blob) size(i int) int { return max(0, g.end(i)-g.end(i-1)) }

// record returns record i, or nothing if the ends are damaged; nothing parses as no record.
func (g *blob) record(i int) []byte {
	from, to := g.end(i-1), g.end(i)
	if from > to || to > len(g.records) {
		return nil
	}
	return g.records[from:to:to]
}

// index returns the position of sequence n, and whether it is in the group.
func (g *blob) index(n uint64) (int, bool) {
	return int(n - g.first), n >= g.first && n-g.first < uint64(g.count)
}

// last is the highest sequence of the group.
func (g *blob) last() uint64 { return g.first + uint64(g.count) - 1 }

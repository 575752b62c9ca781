package pack_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"drawbridge/message/pack"
)

// written is one value of each kind, in the order in which write lays them out.
type written struct {
	uvarint uint64
	flag    bool
	word    uint32
	long    uint64
	text    string
	fixed   [16]byte
	last    byte
}

func (w *written) write() []byte {
	b := pack.AppendUvarint(nil, w.uvarint)
	b = pack.AppendBool(b, w.flag)
	b = pack.AppendUint32(b, w.word)
	b = pack.AppendUint64(b, w.long)
	b = pack.AppendString(b, w.text)
	b = append(b, w.fixed[:]...)
	return append(b, w.last)
}

func read(r *pack.Reader) (w written) {
	w.uvarint = r.Uvarint()
	w.flag = r.Bool()
	w.word = r.Uint32()
	w.long = r.Uint64()
	w.text = r.String(1 << 20)
	r.Fixed(w.fixed[:])
	w.last = r.Byte()
	return w
}

func TestValuesAreReadAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := written{
			uvarint: rapid.Uint64().Draw(t, "uvarint"), flag: rapid.Bool().Draw(t, "flag"), word: rapid.Uint32().Draw(t, "word"),
			long: rapid.Uint64().Draw(t, "long"), text: rapid.String().Draw(t, "text"), last: rapid.Byte().Draw(t, "last"),
			fixed: [16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "fixed")),
		}
		b := want.write()
		r := pack.NewReader(b)
		if got := read(r); got != want {
			t.Fatalf("read %+v, written %+v", got, want)
		}
		if err := r.Finish(); err != nil {
			t.Fatal(err)
		}
		cut := rapid.IntRange(0, len(b)-1).Draw(t, "cut")
		r = pack.NewReader(b[:cut])
		if read(r); !errors.Is(r.Finish(), pack.ErrTruncated) {
			t.Fatalf("cut to %d of %d bytes: %v", cut, len(b), r.Finish())
		}
	})
}

func TestAVarintHasOneForm(t *testing.T) {
	for _, v := range []uint64{0, 1, 0x7f, 0x80, 1 << 32, math.MaxUint64} {
		shortest := pack.AppendUvarint(nil, v)
		if r := pack.NewReader(shortest); r.Uvarint() != v || r.Finish() != nil {
			t.Errorf("%x is not read as %d: %v", shortest, v, r.Err())
		}
		if len(shortest) == binary.MaxVarintLen64 {
			continue
		}
		longer := append([]byte(nil), shortest...)
		longer[len(longer)-1] |= 0x80
		longer = append(longer, 0)
		r := pack.NewReader(longer)
		if got := r.Uvarint(); got != 0 || !errors.Is(r.Err(), pack.ErrMalformed) {
			t.Errorf("%x is read as %d: %v", longer, got, r.Err())
		}
	}
	for _, beyond := range [][]byte{
		append(bytes.Repeat([]byte{0xff}, 9), 2),
		append(bytes.Repeat([]byte{0x80}, 10), 1),
	} {
		r := pack.NewReader(beyond)
		if r.Uvarint(); !errors.Is(r.Err(), pack.ErrMalformed) {
			t.Errorf("%x does not fit 64 bits: %v", beyond, r.Err())
		}
	}
}

func TestBoundsAreChecked(t *testing.T) {
	text := pack.AppendString(nil, strings.Repeat("x", 200))
	if r := pack.NewReader(text); len(r.Bytes(200)) != 200 || r.Finish() != nil {
		t.Errorf("200 bytes of at most 200: %v", r.Err())
	}
	if r := pack.NewReader(text); r.String(199) != "" || !errors.Is(r.Err(), pack.ErrMalformed) {
		t.Errorf("200 bytes of at most 199: %v", r.Err())
	}
	if r := pack.NewReader([]byte{2}); r.Bool() || !errors.Is(r.Err(), pack.ErrMalformed) {
		t.Errorf("flag 2: %v", r.Err())
	}
	if r := pack.NewReader(pack.AppendUvarint(nil, math.MaxUint64)); r.Bytes(math.MaxUint64) != nil || !errors.Is(r.Err(), pack.ErrTruncated) {
		t.Errorf("a string of 2^64-1 bytes: %v", r.Err())
	}
}

func TestTheFirstFailureSticks(t *testing.T) {
	r := pack.NewReader([]byte{1, 2, 3})
	r.Uint32()
	first := r.Err()
	if !errors.Is(first, pack.ErrTruncated) {
		t.Fatal(first)
	}
	r.Failf("a rule of a decoder")
	r.Fail(errors.New("another"))
	if v := read(r); v != (written{}) {
		t.Errorf("after a failure values are read: %+v", v)
	}
	if r.Err() != first || r.Finish() != first || len(r.Rest()) != 0 {
		t.Errorf("err %v, finish %v, rest %x", r.Err(), r.Finish(), r.Rest())
	}
}

func TestFinishRefusesWhatIsLeft(t *testing.T) {
	r := pack.NewReader([]byte{1, 2})
	r.Byte()
	if err := r.Finish(); !errors.Is(err, pack.ErrMalformed) {
		t.Errorf("a byte is left: %v", err)
	}
	if !bytes.Equal(r.Rest(), []byte{2}) {
		t.Errorf("rest is %x", r.Rest())
	}
}

func TestPartsOfTheInputCannotGrowIntoEachOther(t *testing.T) {
	b := append(pack.AppendString(nil, "ab"), 'c')
	r := pack.NewReader(b)
	_ = append(r.Bytes(2), 'X')
	if b[3] != 'c' {
		t.Error("a part that was appended to has changed what stands behind it")
	}
}

package register_test

import (
	"bytes"
	"errors"
	"math"
	"reflect"
	"testing"

	"github.com/jeton-dev/jeton/storage/register"
)

var registers = []register.Register{
	{},
	{H: 1, From: 1},
	{
		Generation: math.MaxInt64, H: math.MaxInt64, Expire: math.MaxInt64, Writer: register.Writer{0xff, 15: 0xff},
		Seq: math.MaxUint64, Epoch: math.MaxUint64, From: math.MinInt64, Reach: math.MaxInt64, Ledger: []byte("ledger"),
	},
	{H: 1_795_228_948_401_704_085, From: 1_795_228_900_000_000_000, Seq: 9, Epoch: 1, Reach: 3_600_000_000_000, Inline: true},
	{Generation: 5, H: 1_795_228_948_401_704_085, From: 1_795_228_900_000_000_000, Seq: 9, Epoch: 1, Reach: 3_600_000_000_000},
}

var partitions = []register.Partition{
	{},
	{Epoch: 1},
	{Epoch: math.MaxUint64, Sealed: true, Floored: true, Floor: math.MaxInt64, Horizon: math.MinInt64},
	{Sealed: true},
	{Epoch: 300, Sealed: true, Installed: 301},
	{Epoch: 7, Installed: math.MaxUint64, Sealed: true, Incomplete: true, Floored: true, Floor: math.MinInt64, Horizon: 1},
}

// partitionsOfOld are how the layout before wrote them.
var partitionsOfOld = map[string]register.Partition{
	"\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00":     {Epoch: 1},
	"\x01\xac\x02\x03\x00\x00\x00\x00\x00\x00\x00\x09\xff\xff\xff\xff\xff\xff\xff\xff": {Epoch: 300, Sealed: true, Floored: true, Floor: 9, Horizon: -1},
}

func TestOlderPartitionsAreRead(t *testing.T) {
	for text, want := range partitionsOfOld {
		if got, err := register.DecodePartition([]byte(text)); err != nil || got != want {
			t.Errorf("%q is read as %+v, %v, want %+v", text, got, err, want)
		}
		for n := range len(text) {
			if _, err := register.DecodePartition([]byte(text[:n])); !errors.Is(err, register.ErrCorrupt) {
				t.Errorf("the first %d bytes of %q: %v, want ErrCorrupt", n, text, err)
			}
		}
	}
	incomplete := []byte("\x01\x01\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	if _, err := register.DecodePartition(incomplete); !errors.Is(err, register.ErrCorrupt) {
		t.Errorf("a flag that the layout before did not have: %v, want ErrCorrupt", err)
	}
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	for _, r := range registers {
		text := r.Append([]byte("before"))
		if got, err := register.Decode(text[len("before"):]); err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%+v is read back as %+v, %v", r, got, err)
		}
	}
	for _, p := range partitions {
		if got, err := register.DecodePartition(p.Append(nil)); err != nil || got != p {
			t.Errorf("%+v is read back as %+v, %v", p, got, err)
		}
	}
}

func TestWhatIsCutOffIsCorrupt(t *testing.T) {
	whole := registers[3].Append(nil)
	for n := range whole {
		if _, err := register.Decode(whole[:n]); !errors.Is(err, register.ErrCorrupt) {
			t.Errorf("the first %d bytes: %v, want ErrCorrupt", n, err)
		}
	}
	whole = partitions[2].Append(nil)
	for n := range whole {
		if _, err := register.DecodePartition(whole[:n]); !errors.Is(err, register.ErrCorrupt) {
			t.Errorf("the first %d bytes of a partition: %v, want ErrCorrupt", n, err)
		}
	}
	if _, err := register.DecodePartition(append(whole, 0)); !errors.Is(err, register.ErrCorrupt) {
		t.Errorf("a partition with more behind it: %v, want ErrCorrupt", err)
	}
	whole[0]++
	if _, err := register.DecodePartition(whole); !errors.Is(err, register.ErrCorrupt) {
		t.Errorf("a partition of another layout: %v, want ErrCorrupt", err)
	}
}

func TestDecodeCopiesTheLedger(t *testing.T) {
	text := registers[2].Append(nil)
	r, err := register.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	clear(text)
	if !bytes.Equal(r.Ledger, []byte("ledger")) {
		t.Errorf("the ledger has become %q", r.Ledger)
	}
}

func FuzzDecode(f *testing.F) {
	for _, r := range registers {
		f.Add(r.Append(nil))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := register.Decode(text)
		if err != nil {
			return
		}
		if again, err := register.Decode(r.Append(nil)); err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%+v is read back as %+v, %v", r, again, err)
		}
	})
}

func FuzzDecodePartition(f *testing.F) {
	for _, p := range partitions {
		f.Add(p.Append(nil))
	}
	for text := range partitionsOfOld {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := register.DecodePartition(text)
		if err != nil {
			return
		}
		if again, err := register.DecodePartition(p.Append(nil)); err != nil || again != p {
			t.Errorf("%+v is read back as %+v, %v", p, again, err)
		}
	})
}

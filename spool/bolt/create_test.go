package bolt_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"drawbridge/message"
	"drawbridge/spool"
	"drawbridge/spool/bolt"
)

func TestSecondOpenerIsToldAtOnce(t *testing.T) {
	s := openTemp(t, orders())
	if _, err := bolt.Open(s.dir, orders()); !errors.Is(err, spool.ErrInUse) {
		t.Errorf("got %v", err)
	}
	s.close()
	open(t, s.dir, orders())
}

func TestFilesAreForTheirOwnerOnly(t *testing.T) {
	s := openTemp(t, orders())
	dir := filepath.Join(t.TempDir(), "deep", "spool")
	open(t, dir, orders())
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", e.Name(), info.Mode(), err)
		}
	}
	requireEqual(t, "files", names, []string{"lock", "spool.db", "spool.id"})
}

func TestOptionsThatCannotWork(t *testing.T) {
	for _, o := range []bolt.Options{
		{},
		{Agent: "with space"},
		{Agent: "fra-1", Queues: map[string]spool.QueueOptions{"Orders": {}}},
		{Agent: "fra-1", Queues: map[string]spool.QueueOptions{"orders.dead": {}}},
	} {
		if s, err := bolt.Open(t.TempDir(), o); !errors.Is(err, message.ErrName) {
			t.Errorf("%+v: %v, %v", o, s, err)
		}
	}
}

// TestSpoolThatIsNotTheOneOfItsStamp goes through what restores, mix-ups and half copies leave behind.
func TestSpoolThatIsNotTheOneOfItsStamp(t *testing.T) {
	remove := func(t *testing.T, path string) {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	write := func(t *testing.T, path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	swap := func(t *testing.T, path, name string) {
		other := openTemp(t, orders())
		other.close()
		b, err := os.ReadFile(filepath.Join(other.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, string(b))
	}
	cases := []struct {
		name  string
		spoil func(t *testing.T, db, stamp string)
		says  string
	}{
		{"no stamp", func(t *testing.T, db, stamp string) { remove(t, stamp) }, "no identity stamp"},
		{"no database", func(t *testing.T, db, stamp string) { remove(t, db) }, "was lost"},
		{"database cut to nothing", func(t *testing.T, db, stamp string) { write(t, db, "") }, "is empty"},
		{"database of zeros", func(t *testing.T, db, stamp string) { write(t, db, strings.Repeat("\x00", 64<<10)) }, "unreadable"},
		{"text as database", func(t *testing.T, db, stamp string) { write(t, db, "hello") }, "unreadable"},
		{"another spool's database", func(t *testing.T, db, stamp string) { swap(t, db, "spool.db") }, "holds spool"},
		{"another spool's stamp", func(t *testing.T, db, stamp string) { swap(t, stamp, "spool.id") }, "holds spool"},
		{"foreign database", func(t *testing.T, db, stamp string) {
			remove(t, db)
			if err := bolt.WriteForeign(db); err != nil {
				t.Fatal(err)
			}
		}, "no spool of drawbridge"},
		{"damaged stamp", func(t *testing.T, db, stamp string) { write(t, stamp, "drawbridge") }, "damaged"},
		{"short id", func(t *testing.T, db, stamp string) { write(t, stamp, "drawbridge spool format 2 id abcd\n") }, "no spool id"},
		{"later format", func(t *testing.T, db, stamp string) {
			write(t, stamp, "drawbridge spool format 3 id 00112233445566778899aabbccddeeff\n")
		}, "names format 3"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := openTemp(t, orders())
			s.store("orders", "a")
			s.close()
			db, stamp := filepath.Join(s.dir, "spool.db"), filepath.Join(s.dir, "spool.id")
			c.spoil(t, db, stamp)
			before, _ := os.ReadFile(db)
			again, err := bolt.Open(s.dir, orders())
			if err == nil {
				again.Close()
				t.Fatal("it opened")
			}
			if !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), stamp) {
				t.Errorf("it says %q", err)
			}
			if after, _ := os.ReadFile(db); !slices.Equal(before, after) {
				t.Error("the file was changed")
			}
		})
	}
}

// TestCreationThatIsCutOff ends each step of the creation and opens again: the spool is there with one identity, or is made.
func TestCreationThatIsCutOff(t *testing.T) {
	for _, point := range []string{
		bolt.HookCreateBegin, bolt.HookCreateFile, bolt.HookCreateStamp, bolt.HookCreateDone, bolt.HookOpenEpoch,
	} {
		t.Run(point, func(t *testing.T) {
			dir := t.TempDir()
			o := orders()
			stopped := errors.New("stopped")
			o.Hook = func(p string) error {
				if p == point {
					return stopped
				}
				return nil
			}
			if _, err := bolt.Open(dir, o); !errors.Is(err, stopped) {
				t.Fatalf("got %v", err)
			}
			stamp, _ := os.ReadFile(filepath.Join(dir, "spool.id"))
			s := open(t, dir, orders())
			s.store("orders", "a")
			if len(stamp) > 0 && !strings.Contains(string(stamp), s.Identity().Spool.String()) {
				t.Errorf("stamp %q, but the spool is %s", stamp, s.Identity().Spool)
			}
			if c := s.Identity().Epoch.Counter; c != 1 {
				t.Errorf("epoch %d", c)
			}
			again := s.reopen()
			requireEqual(t, "leased", idsOf(again.lease(9)), []string{"a"})
		})
	}
}

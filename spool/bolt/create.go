package bolt

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	bbolt "go.etcd.io/bbolt"

	"drawbridge/message"
)

// Names in a spool's directory.
const (
	dbFile     = "spool.db"
	stampFile  = "spool.id"
	lockFile   = "lock"
	newSuffix  = ".new"
	fileMode   = 0o600
	dirMode    = 0o700
	stampWords = "drawbridge spool format"
)

// A spool is created so that a crash at any step leaves it either not created or created, and so that what is left tells
// which:
//
//  1. write spool.db.new, close it, sync it and the directory      no stamp:            not created, start again
//  2. write spool.id.new, sync it, rename it, sync the directory   stamp and .new file: complete; rename it
//  3. rename spool.db.new to spool.db, sync the directory          stamp and spool.db:  created
//
// A database under its final name therefore always has its stamp beside it, and a stamp without a database and without a
// .new file is a spool whose database was lost: that is refused, never begun anew.
func (o *Options) createIfMissing(dir string) error {
	db, stamp := filepath.Join(dir, dbFile), filepath.Join(dir, stampFile)
	hasDB, err := exists(db)
	if err != nil {
		return err
	}
	hasStamp, err := exists(stamp)
	if err != nil {
		return err
	}
	switch {
	case hasDB && hasStamp:
		return nil
	case hasDB:
		return fmt.Errorf("spool %s has no identity stamp %s beside it: restore the stamp, or move the file away to begin an empty spool", db, stamp)
	case !hasStamp:
		if err := o.pass(HookCreateBegin); err != nil {
			return err
		}
		if err := o.writeNew(dir); err != nil {
			return err
		}
		if err := o.pass(HookCreateStamp); err != nil {
			return err
		}
	default:
		finished, err := exists(db + newSuffix)
		if err != nil {
			return err
		}
		if !finished {
			return fmt.Errorf("identity stamp %s has no spool %s beside it: the spool was lost; restore it, or move the stamp away to begin an empty spool", stamp, db)
		}
	}
	if err := rename(db+newSuffix, db); err != nil {
		return err
	}
	return o.pass(HookCreateDone)
}

// writeNew does steps 1 and 2.
func (o *Options) writeNew(dir string) error {
	path := filepath.Join(dir, dbFile+newSuffix)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a half-made spool: %w", err)
	}
	id := message.NewSpoolID()
	if err := initialise(path, id); err != nil {
		return fmt.Errorf("create spool %s: %w", path, err)
	}
	if err := syncPath(path); err != nil {
		return err
	}
	if err := syncPath(dir); err != nil {
		return err
	}
	if err := o.pass(HookCreateFile); err != nil {
		return err
	}
	return o.writeStamp(dir, id)
}

// initialise makes a database that holds the identity and no queue.
func initialise(path string, id message.SpoolID) error {
	db, err := bbolt.Open(path, fileMode, &bbolt.Options{FreelistType: bbolt.FreelistMapType})
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range topBuckets {
			if _, err := tx.CreateBucket(name); err != nil {
				return err
			}
		}
		var secret [secretBytes]byte
		_, _ = rand.Read(secret[:]) // ends the process rather than fail
		meta := tx.Bucket(bucketMeta)
		return errors.Join(
			meta.Put(keyFormat, []byte{formatVersion}),
			meta.Put(keySpool, id[:]),
			meta.Put(keySecret, secret[:]),
		)
	})
	return errors.Join(err, db.Close())
}

func (o *Options) writeStamp(dir string, id message.SpoolID) error {
	path := filepath.Join(dir, stampFile)
	text := fmt.Sprintf("%s %d id %s\n", stampWords, formatVersion, id)
	if err := os.WriteFile(path+newSuffix, []byte(text), fileMode); err != nil {
		return fmt.Errorf("write identity stamp: %w", err)
	}
	if err := syncPath(path + newSuffix); err != nil {
		return err
	}
	if err := o.pass(HookCreateStampFile); err != nil {
		return err
	}
	return rename(path+newSuffix, path)
}

func readStamp(dir string) (message.SpoolID, error) {
	var id message.SpoolID
	path := filepath.Join(dir, stampFile)
	b, err := os.ReadFile(path)
	if err != nil {
		return id, fmt.Errorf("read identity stamp: %w", err)
	}
	var version int
	var digits string
	if _, err := fmt.Sscanf(strings.TrimSpace(string(b)), stampWords+" %d id %s", &version, &digits); err != nil {
		return id, fmt.Errorf("identity stamp %s is damaged: %w", path, err)
	}
	if version != formatVersion {
		return id, fmt.Errorf("identity stamp %s names format %d, this program reads %d", path, version, formatVersion)
	}
	if n, err := hex.Decode(id[:], []byte(digits)); err != nil || n != len(id) || len(digits) != 2*len(id) {
		return id, fmt.Errorf("identity stamp %s is damaged: %q is no spool id", path, digits)
	}
	return id, nil
}

// checkStamp refuses a database that is not the one the stamp names. It looks through a read-only opening, so that a file
// that is not ours is left as it is; and it looks at the size first, because bbolt takes a file cut to nothing for a new one.
func checkStamp(dir string) (message.SpoolID, error) {
	path, stamp := filepath.Join(dir, dbFile), filepath.Join(dir, stampFile)
	id, err := readStamp(dir)
	if err != nil {
		return id, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return id, fmt.Errorf("look at spool: %w", err)
	}
	if info.Size() == 0 {
		return id, fmt.Errorf("spool %s is empty, but the identity stamp %s says that it held spool %s: its content was lost", path, stamp, id)
	}
	db, err := bbolt.Open(path, fileMode, &bbolt.Options{ReadOnly: true, Timeout: lockTimeout})
	if err != nil {
		return id, fmt.Errorf("spool %s is unreadable (identity stamp %s says that it held spool %s): %w", path, stamp, id, err)
	}
	defer db.Close()
	return id, db.View(func(tx *bbolt.Tx) error {
		meta := tx.Bucket(bucketMeta)
		if meta == nil || len(meta.Get(keySpool)) != len(id) {
			return fmt.Errorf("%s is no spool of drawbridge, but the identity stamp %s names spool %s", path, stamp, id)
		}
		if held := message.SpoolID(meta.Get(keySpool)); held != id {
			return fmt.Errorf("%s holds spool %s, but the identity stamp %s names spool %s", path, held, stamp, id)
		}
		if v := meta.Get(keyFormat); len(v) != 1 || v[0] != formatVersion {
			return fmt.Errorf("spool %s has format %x, this program reads %d", path, v, formatVersion)
		}
		return nil
	})
}

// makeDir makes the directory if it is missing and takes it from everybody else.
func makeDir(dir string) error {
	there, err := exists(dir)
	if err != nil || there {
		return err
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return fmt.Errorf("make spool directory: %w", err)
	}
	return syncPath(filepath.Dir(dir))
}

func exists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// rename gives a file its final name and makes the name durable.
func rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncPath(filepath.Dir(to))
}

// syncPath syncs a file or a directory.
func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

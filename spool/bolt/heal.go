package bolt

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"drawbridge/spool"
)

// healWaits are the waits before each attempt to open the file again. A disk that does not come back in this time needs an
// operator.
func healWaits() []time.Duration {
	return []time.Duration{0, 100 * time.Millisecond, time.Second, 5 * time.Second, 15 * time.Second}
}

// heal opens the file again after a commit that failed for cause, under a new epoch and with a memory read anew: what the
// file holds is what happened, whatever the commit reported. It returns false if the store is to end.
func (s *Store) heal(cause error) bool {
	s.log.Error("commit failed, opening the spool again", "error", cause)
	cause = errors.Join(cause, s.db.Close())
	s.db = nil
	var err error
	for _, wait := range healWaits() {
		if !s.sleep(wait) {
			return false
		}
		if err = s.reopen(); err == nil {
			s.log.Warn("spool is open again", "epoch", s.Identity().Epoch)
			return true
		}
		s.log.Error("open the spool again", "error", err)
	}
	s.giveUp(fmt.Errorf("%w: the spool did not open again after a failed commit (%w): %w", spool.ErrUnknown, cause, err))
	return false
}

func (s *Store) reopen() error {
	if err := s.options.pass(HookReopen); err != nil {
		return err
	}
	// After a sync that failed, the cache may hold pages that the disk has not.
	if err := dropCache(filepath.Join(s.dir, dbFile)); err != nil {
		return err
	}
	id, err := checkStamp(s.dir)
	if err != nil {
		return err
	}
	if err := s.openFile(); err != nil {
		return err
	}
	if err := s.load(id); err != nil {
		err = errors.Join(err, s.db.Close())
		s.db = nil
		return err
	}
	s.readers.open(s.db)
	s.watchers.fireAll()
	return nil
}

// giveUp makes every call return err from now on.
func (s *Store) giveUp(err error) {
	s.failure = err
	close(s.failed)
	s.readers.shut(err)
	s.intake.refuse(err)
	s.log.Error("spool has given up", "error", err)
}

// closeReaders makes readers wait: what the failed commit left in the file is not known to be durable.
func (s *Store) closeReaders() { s.readers.close() }

// sleep returns false if the store is closed meanwhile.
func (s *Store) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.closing:
		return false
	}
}

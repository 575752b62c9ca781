package bolt

import bbolt "go.etcd.io/bbolt"

// A commit either writes the list of free pages, 8 bytes each, or leaves it to the next opening to find them by a walk over
// the tree. While the spool is full there are few free pages and a large tree: writing is cheap and the walk is dear. After a
// large backlog has drained it is the other way round, and each commit would write megabytes. So the list is written as long
// as it is short, and once more as the spool is closed.
const (
	manyFreePages = 8192
	fewFreePages  = manyFreePages / 2
)

// chooseFreelist decides for the commit that comes next.
func (s *Store) chooseFreelist() {
	stats := s.db.Stats()
	switch free := stats.FreePageN + stats.PendingPageN; {
	case free > manyFreePages:
		s.db.NoFreelistSync = true
	case free < fewFreePages:
		s.db.NoFreelistSync = false
	}
}

// leaveFreelist writes the list if the last commit did not, so that the next opening is quick.
func (s *Store) leaveFreelist() error {
	if !s.db.NoFreelistSync {
		return nil
	}
	s.db.NoFreelistSync = false
	return s.db.Update(func(*bbolt.Tx) error { return nil })
}

package bolt

import "drawbridge/spool"

// Capabilities implements spool.Store.
func (s *Store) Capabilities() spool.Capabilities { return spool.Capabilities{Durable: true} }

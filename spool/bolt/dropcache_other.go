//go:build !linux

package bolt

// dropCache does nothing where the cache cannot be dropped.
func dropCache(string) error { return nil }

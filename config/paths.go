package config

import "path/filepath"

// Paths are the places that are used when nobody names others.
type Paths struct {
	// Config is the file, DataDir the directory of spool and identity, API the Unix socket for local programs.
	Config, DataDir, API string
}

// DefaultPaths returns the places for a user: system directories for root, XDG directories for anybody else. Where the
// environment names no runtime directory the socket lies in the data directory, which needs nobody's preparation.
func DefaultPaths(uid int, getenv func(string) string) Paths {
	if uid == 0 {
		return Paths{
			Config:  "/etc/drawbridge/drawbridge.yaml",
			DataDir: "/var/lib/drawbridge",
			API:     "/run/drawbridge/api.sock",
		}
	}
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		home = "/"
	}
	// The XDG specification: a relative path in one of its variables is to be ignored.
	directory := func(variable, fallback string) string {
		if dir := getenv(variable); filepath.IsAbs(dir) {
			return filepath.Join(dir, "drawbridge")
		}
		return filepath.Join(fallback, "drawbridge")
	}
	p := Paths{
		Config:  filepath.Join(directory("XDG_CONFIG_HOME", filepath.Join(home, ".config")), "drawbridge.yaml"),
		DataDir: directory("XDG_STATE_HOME", filepath.Join(home, ".local", "state")),
	}
	p.API = filepath.Join(directory("XDG_RUNTIME_DIR", filepath.Dir(p.DataDir)), "api.sock")
	return p
}

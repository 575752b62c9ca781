package config_test

import (
	"testing"

	"drawbridge/config"
)

func TestDefaultPaths(t *testing.T) {
	for name, tt := range map[string]struct {
		uid  int
		env  map[string]string
		want config.Paths
	}{
		"root": {0, map[string]string{"HOME": "/root", "XDG_CONFIG_HOME": "/x"}, config.Paths{
			Config: "/etc/drawbridge/drawbridge.yaml", DataDir: "/var/lib/drawbridge", API: "/run/drawbridge/api.sock"}},
		"XDG": {1000, map[string]string{"HOME": "/home/u", "XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/run/user/1000"}, config.Paths{
			Config: "/c/drawbridge/drawbridge.yaml", DataDir: "/s/drawbridge", API: "/run/user/1000/drawbridge/api.sock"}},
		"home only": {1000, map[string]string{"HOME": "/home/u"}, config.Paths{
			Config:  "/home/u/.config/drawbridge/drawbridge.yaml",
			DataDir: "/home/u/.local/state/drawbridge", API: "/home/u/.local/state/drawbridge/api.sock"}},
		"relative paths do not count": {1000, map[string]string{"HOME": "/home/u", "XDG_CONFIG_HOME": "c", "XDG_RUNTIME_DIR": "r"}, config.Paths{
			Config:  "/home/u/.config/drawbridge/drawbridge.yaml",
			DataDir: "/home/u/.local/state/drawbridge", API: "/home/u/.local/state/drawbridge/api.sock"}},
	} {
		if got := config.DefaultPaths(tt.uid, func(name string) string { return tt.env[name] }); got != tt.want {
			t.Errorf("%s: got %+v, want %+v", name, got, tt.want)
		}
	}
}

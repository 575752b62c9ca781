package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"drawbridge/client"
	"drawbridge/config"
)

func (g *globals) defaults() config.Paths { return config.DefaultPaths(g.uid, g.getenv) }

// configPath returns the configuration file, and whether somebody named it.
func (g *globals) configPath() (path string, named bool) {
	if g.config != "" {
		return g.config, true
	}
	if path := g.getenv("DRAWBRIDGE_CONFIG"); path != "" {
		return path, true
	}
	return g.defaults().Config, false
}

// loadConfig reads the configuration file.
func (g *globals) loadConfig() (*config.Config, error) {
	path, _ := g.configPath()
	return config.Load(path)
}

// socket returns where the agent listens: the flag, else the environment, else the configuration if there is one, else the
// default of this user.
func (g *globals) socket() (string, error) {
	if g.api != "" {
		return g.api, nil
	}
	if socket := g.getenv("DRAWBRIDGE_API"); socket != "" {
		return socket, nil
	}
	path, named := g.configPath()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !named {
		return g.defaults().API, nil
	}
	cfg, err := config.Load(path)
	if err != nil {
		return "", fmt.Errorf("%w\nThe address of the agent is read from there; --api PATH or DRAWBRIDGE_API names it instead", err)
	}
	return cfg.Listen.API, nil
}

// agent returns a client of the running agent.
func (g *globals) agent() (*client.Client, error) {
	socket, err := g.socket()
	if err != nil {
		return nil, err
	}
	return client.New(socket), nil
}

// dataDir returns the directory of spool and identity: the flag, else the configuration, else the default of this user.
func (g *globals) dataDir(flag string) (string, error) {
	if flag != "" {
		return filepath.Abs(flag)
	}
	path, named := g.configPath()
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && !named {
		return g.defaults().DataDir, nil
	}
	cfg, err := config.Load(path)
	if err != nil {
		return "", fmt.Errorf("%w\nThe data directory is read from there; --data-dir DIR names it instead", err)
	}
	return cfg.DataDir, nil
}

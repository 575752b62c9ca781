package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"drawbridge/agent"
	"drawbridge/config"
	"drawbridge/link/quic"
	"drawbridge/message"
)

func initCommand(g *globals) *cobra.Command {
	var name, dataDir string
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Make this agent's identity and a configuration file to begin with",
		Long: `init makes what an agent needs before its first run: a key by which its peers know it, and a
commented configuration file. It never overwrites either.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := g.initPlaces(dataDir)
			if err != nil {
				return err
			}
			if name == "" {
				if name, err = hostName(); err != nil {
					return err
				}
			}
			if err := message.CheckAgent(name); err != nil {
				return usageOf(cmd, fmt.Errorf("--agent: %w", err))
			}
			return g.init(name, p)
		},
	}
	cmd.Flags().StringVar(&name, "agent", "", "the agent's name, which its messages carry (default: the host's name)")
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "where queues and identity will lie")
	return cmd
}

// initPlaces decides where everything will lie. A socket is placed beside the data when the data lies in a place of its own.
func (g *globals) initPlaces(dataDir string) (config.Paths, error) {
	p := g.defaults()
	path, _ := g.configPath()
	var err error
	if p.Config, err = filepath.Abs(path); err != nil {
		return p, err
	}
	if dataDir != "" {
		if p.DataDir, err = filepath.Abs(dataDir); err != nil {
			return p, err
		}
		p.API = filepath.Join(p.DataDir, "api.sock")
	}
	socket := g.api
	if socket == "" {
		socket = g.getenv("DRAWBRIDGE_API")
	}
	if socket != "" {
		p.API, err = filepath.Abs(socket)
	}
	return p, err
}

func (g *globals) init(name string, p config.Paths) error {
	key := agent.IdentityPath(p.DataDir)
	// Both are looked at before either is made, so that a refusal leaves nothing behind.
	for _, path := range []string{p.Config, key} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			if err == nil {
				err = fs.ErrExist
			}
			return fmt.Errorf("nothing was done: %s: %w; move it away, or choose other places with --config and --data-dir", path, err)
		}
	}
	if err := os.MkdirAll(p.DataDir, 0o700); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(p.Config), 0o755); err != nil {
		return fmt.Errorf("directory of the configuration: %w", err)
	}
	id, err := quic.CreateIdentity(key)
	if err != nil {
		return err
	}
	if err := writeNew(p.Config, config.Sample(name, p)); err != nil {
		return fmt.Errorf("the identity was made, the configuration was not: %w", err)
	}
	return g.printInit(name, id.Pin().String(), key, p)
}

// writeNew writes a file that must not be there yet.
func writeNew(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func (g *globals) printInit(name, pin, key string, p config.Paths) error {
	if g.json() {
		return g.printJSON(map[string]string{
			"agent": name, "peer_id": pin, "identity": key, "config": p.Config, "data_dir": p.DataDir, "api": p.API,
		})
	}
	t := newTable(g.stdout, "agent", name)
	t.row("peer id", pin)
	t.row("identity", key+" (the private key: one agent, one key, no copies)")
	t.row("config", p.Config)
	t.row("data", p.DataDir)
	t.row("socket", p.API)
	if err := t.print(); err != nil {
		return err
	}
	named := ""
	if p.Config != g.defaults().Config {
		named = " --config " + p.Config
	}
	_, err := fmt.Fprintf(g.stdout, `
Next:
  1. In %s set the queues, and a link for each peer: its peer_id is
     what "drawbridge identity show" prints on the other host, which needs the one above.
  2. drawbridge config check%s
  3. drawbridge run%s
`, p.Config, named, named)
	return err
}

func hostName() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("name of this host: %w; name the agent with --agent", err)
	}
	short, _, _ := strings.Cut(host, ".")
	return short, nil
}

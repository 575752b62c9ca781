package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"drawbridge/agent"
	"drawbridge/link/quic"
)

func identityCommand(g *globals) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "identity",
		Short: "Work with the key by which peers know this agent",
	}
	commandGroup(cmd, identityShowCommand(g))
	return cmd
}

func identityShowCommand(g *globals) *cobra.Command {
	var dataDir string
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Print this agent's identity, which a peer's file names as peer_id",
		Args:  arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := g.dataDir(dataDir)
			if err != nil {
				return err
			}
			id, err := quic.LoadIdentity(agent.IdentityPath(dir))
			if err != nil {
				return err
			}
			if g.json() {
				return g.printJSON(map[string]string{"peer_id": id.Pin().String()})
			}
			_, err = fmt.Fprintln(g.stdout, id.Pin())
			return err
		},
	}
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "where the key lies (default: data_dir of the configuration)")
	return cmd
}

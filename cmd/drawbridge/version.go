package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func versionCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			if g.json() {
				return g.printJSON(map[string]string{"version": version(), "go": runtime.Version()})
			}
			_, err := fmt.Fprintln(g.stdout, "drawbridge", version(), runtime.Version())
			return err
		},
	}
}

// version is what the module system stamped into this build: a tag, or the commit it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

package main

import (
	"context"
	"errors"
	"io"

	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/settings"
)

// sidecar is the command `stint sidecar`: a server with other defaults.
func (p *process) sidecar(ctx context.Context, args []string) error {
	cfg, err := settings.ReadSidecar(args, p.environ, p.readFile)
	if errors.Is(err, settings.ErrHelpAll) {
		_, err = io.WriteString(p.stdout, settings.FullHelp())
		return err
	}
	if err != nil {
		return cli.Usage(err)
	}
	return p.runServer(ctx, cfg, nil)
}

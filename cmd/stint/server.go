package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/stintdb/stint/server/config"
)

// server is the command `stint server`.
func (p *process) server(ctx context.Context, args []string) error {
	cfg, err := load(args, p.environ, p.readFile)
	if errors.Is(err, pflag.ErrHelp) {
		_, err = fmt.Fprint(p.stdout, serverHelp())
		return err
	}
	if err != nil {
		return &usageError{err}
	}
	return runServer(ctx, cfg, p.stdout, p.stderr)
}

// runServer serves until ctx is done.
func runServer(ctx context.Context, cfg config.Config, stdout, stderr io.Writer) error {
	return nil
}

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/stintdb/stint/cmd/stint/adminclient"
	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/progress"
	"github.com/stintdb/stint/cmd/stint/screen"
)

const topUsage = `Usage: stint top [flags]

Shows the traffic of a running server, the keys with the most denials in the
last 4 to 5 minutes and the limits that denied them, the keys whose tokens are
lent and to whom, and the nodes of its cluster. On a terminal it updates every
second until you press Ctrl-C; otherwise it prints once. Set NO_COLOR to any
value to turn colours off.

` + adminclient.Usage + `  --token-file FILE     a file with the server's --admin-token [default: the
                        token in STINT_ADMIN_TOKEN, if it is not a hash]
  --once                print once on a terminal too

Exit code 0: success. 1: the server refused or did not answer. 2: wrong
arguments.
`

const (
	topEvery    = time.Second
	topMaxBytes = 4 << 20 // of an answer
)

// top is the command `stint top`.
func (p *process) top(ctx context.Context, args []string) error {
	set := cli.NewFlags("top")
	server := adminclient.AddFlags(set, p.variable)
	tokenFile := set.String("token-file", "", "")
	once := set.Bool("once", false, "")
	if err := cli.ParseOnlyFlags(set, args); err != nil {
		return err
	}
	client, err := adminclient.New(server, p.readFile)
	if err != nil {
		return err
	}
	token := p.textVariable("STINT_ADMIN_TOKEN")
	if *tokenFile != "" {
		if token, err = p.secretIn("token-file", *tokenFile); err != nil {
			return err
		}
	}
	drawing := &screen.Drawing{Host: client.Host}
	if progress.IsTerminal(p.stdout) {
		drawing.Coloured = p.variable("NO_COLOR") == "" && p.variable("TERM") != "dumb"
		if !*once {
			return p.followOverview(ctx, client, token, drawing)
		}
	}
	view, err := askOverview(ctx, client, token)
	if err != nil {
		return err
	}
	var page bytes.Buffer
	drawing.Draw(&page, view)
	_, err = page.WriteTo(p.stdout)
	return err
}

// followOverview shows the overview in a terminal, and updates it until ctx is done.
func (p *process) followOverview(ctx context.Context, client *adminclient.Client, token string, drawing *screen.Drawing) (err error) {
	view, err := askOverview(ctx, client, token) // an error of the first one stays on the terminal as it is
	if err != nil {
		return err
	}
	terminal, err := screen.Open(p.stdout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, terminal.Close()) }()
	for {
		var page bytes.Buffer
		drawing.Draw(&page, view)
		if err := terminal.Show(page.Bytes()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(topEvery):
		}
		if view, err = askOverview(ctx, client, token); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

// askOverview asks the server for its overview.
func askOverview(ctx context.Context, c *adminclient.Client, token string) (v *screen.View, err error) {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	response, err := c.Ask(ctx, http.MethodGet, "/api/overview", token)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		if err := json.NewDecoder(io.LimitReader(response.Body, topMaxBytes)).Decode(&v); err != nil {
			return nil, fmt.Errorf("%s is not a Stint server of this version: %w", c.URL, err)
		}
		return v, nil
	}
	if response.StatusCode == http.StatusUnauthorized {
		return nil, adminclient.Unauthorized(response)
	}
	return nil, fmt.Errorf("the server refused the request: %s", adminclient.Refusal(response))
}

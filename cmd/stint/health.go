package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/stintdb/stint/cmd/stint/adminclient"
	"github.com/stintdb/stint/cmd/stint/cli"
)

const healthUsage = `Usage: stint health [flags]

Checks whether a server is ready to answer requests, and prints what the server
says. Use it for health checks in containers that have no shell and no curl.

` + adminclient.Usage + `  --alive               check only whether the process is alive (/healthz), not
                        whether it is ready to answer requests (/readyz)

Exit code 0: it is. 1: it is not, or did not answer within 5 seconds.
`

// healthTimeout bounds the time of the request.
const healthTimeout = 5 * time.Second

// health is the command `stint health`.
func (p *process) health(ctx context.Context, args []string) error {
	set := cli.NewFlags("health")
	server := adminclient.AddFlags(set, p.variable)
	alive := set.Bool("alive", false, "")
	if err := cli.ParseOnlyFlags(set, args); err != nil {
		return err
	}
	client, err := adminclient.New(server, p.readFile)
	if err != nil {
		return err
	}
	path := "/readyz"
	if *alive {
		path = "/healthz"
	}
	return p.askHealth(ctx, client, path)
}

// askHealth prints the answer at a path; any status but 200 is an error.
func (p *process) askHealth(ctx context.Context, client *adminclient.Client, path string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	response, err := client.Ask(ctx, http.MethodGet, path, "")
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	said := strings.TrimSpace(string(body))
	if err != nil || response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", client.URL+path, response.Status, said)
	}
	_, err = fmt.Fprintln(p.stdout, said)
	return err
}

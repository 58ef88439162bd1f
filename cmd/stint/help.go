package main

import (
	"context"
	"fmt"
	"strings"
)

const overview = `Stint is a rate limit server that speaks the Redis protocol.

Usage: stint [command]

`

// help is the command `stint help`.
func (p *process) help(_ context.Context, args []string) error {
	if len(args) > 0 {
		cmd, err := find(args[0])
		if err == nil {
			_, err = fmt.Fprint(p.stdout, cmd.help())
		}
		return err
	}
	var out strings.Builder
	out.WriteString(overview)
	for _, cmd := range commands() {
		fmt.Fprintf(&out, "  %-12s%s\n", cmd.name, cmd.summary)
	}
	out.WriteString("\n'stint COMMAND --help' explains a command.\n")
	_, err := fmt.Fprint(p.stdout, out.String())
	return err
}

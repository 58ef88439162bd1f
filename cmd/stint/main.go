// Command stint is a rate limit server that speaks the Redis protocol, and the tools around it.
//
//	stint [server] [flags]   start a server
//	stint sidecar            start a server beside an application
//	stint inspect PATH…      show and check files of state
//	stint backup FILE        copy a running server's state
//	stint restore FILE DIR   put a backup into a directory
//	stint health             check whether a server answers
//	stint top                show a server's traffic and most denied keys
//	stint policy ACTION      keep a server's policies in a file
//	stint replay LOG…        show the effect of limits on a log
//	stint completion SHELL   print a completion script
//	stint manual             print the manual page
//	stint version            print the version
//	stint help [command]     explain
//
// This package is the only place where the parts of Stint meet. Package settings reads its flags, environment variables
// and configuration file.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/cmd/stint/inspect"
	"github.com/stintdb/stint/cmd/stint/policyfile"
	"github.com/stintdb/stint/cmd/stint/settings"
	"github.com/stintdb/stint/internal/signals"
	"github.com/stintdb/stint/internal/spelling"
)

func main() {
	cmd, _, err := choose(os.Args[1:])
	ctx, told := signals.Handle(err == nil && (cmd.name == "server" || cmd.name == "sidecar"))
	p := &process{program: os.Args[0], environ: os.Environ(), readFile: readRegularFile, stdout: os.Stdout, stderr: os.Stderr, signals: told, beginNode: calmMonitor, addProcessors: addProcessors}
	os.Exit(p.run(ctx, os.Args[1:]))
}

// command is one subcommand.
type command struct {
	name    string
	summary string
	usage   string                                                     // printed by --help; "" without flags
	run     func(p *process, ctx context.Context, args []string) error // an error that wraps pflag.ErrHelp prints the help
}

func commands() []command {
	return []command{
		{"server", "start a server (the default command)", settings.Help(), (*process).server},
		{"sidecar", "start a server beside an application, for another server's limits", settings.SidecarHelp, (*process).sidecar},
		{"inspect", "check, describe and dump the files of a server's state", inspect.Usage, func(p *process, ctx context.Context, args []string) error {
			return inspect.Run(ctx, args, p.stdout, p.stderr)
		}},
		{"backup", "copy the state of a running server to a file", backupUsage, (*process).backup},
		{"restore", "put a backup into the directory of a new server", restoreUsage, (*process).restore},
		{"health", "check whether a server answers requests", healthUsage, (*process).health},
		{"top", "show a server's traffic, its most denied keys and its lent tokens", topUsage, (*process).top},
		{"policy", "keep the policies of a server in a file: export, diff, apply", policyUsage, (*process).policy},
		{"replay", "show which requests in an access log your limits would have denied", replayUsage, (*process).replay},
		{"completion", "print a script that completes commands and flags in a shell", completionUsage, (*process).completion},
		{"manual", "print the manual page", manualUsage, (*process).manual},
		{"version", "print the version", "", (*process).printVersion},
		{"help", "explain a command", "", (*process).help},
	}
}

// fullHelp is the help text with all flags, for completion and the manual page.
func (c *command) fullHelp() string {
	if c.name == "server" {
		return settings.FullHelp()
	}
	return c.help()
}

// help is the help text of a command.
func (c *command) help() string {
	if c.usage == "" {
		return fmt.Sprintf("stint %s: %s\n", c.name, c.summary)
	}
	return c.usage
}

// The exit codes of every command.
const (
	exitOK     = 0
	exitFailed = 1 // the command failed
	exitUsage  = 2 // wrong arguments or settings

	exitDiffers = 3 // stint policy diff found a difference
)

// run finds the command that args name, runs it, and turns its error into one line and an exit code.
func (p *process) run(ctx context.Context, args []string) int {
	cmd, args, err := choose(args)
	if err == nil {
		err = cmd.run(p, ctx, args)
	}
	if errors.Is(err, pflag.ErrHelp) {
		_, err = fmt.Fprint(p.stdout, cmd.help())
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, policyfile.ErrDiffers):
		return exitDiffers
	case errors.Is(err, cli.ErrUsage):
		fmt.Fprintf(p.stderr, "stint: %s\n", err)
		return exitUsage
	}
	text := err.Error()
	if errors.Is(err, context.Canceled) && ctx.Err() != nil { // by a signal
		text = strings.ReplaceAll(text, context.Canceled.Error(), "interrupted")
	}
	fmt.Fprintf(p.stderr, "stint: %s\n", text)
	return exitFailed
}

// choose splits args into a command and its own arguments. Flags without a command are the server's, except those
// that people try first on any program.
func choose(args []string) (command, []string, error) {
	name := "server"
	switch {
	case len(args) == 0:
	case len(args) == 1 && (args[0] == "--help" || args[0] == "-h"):
		name, args = "help", nil
	case len(args) == 1 && (args[0] == "--version" || args[0] == "-v"):
		name, args = "version", nil
	case !strings.HasPrefix(args[0], "-"):
		name, args = args[0], args[1:]
	}
	cmd, err := find(name)
	return cmd, args, err
}

func find(name string) (command, error) {
	var names []string
	for _, cmd := range commands() {
		if cmd.name == name {
			return cmd, nil
		}
		names = append(names, cmd.name)
	}
	nearest := spelling.Nearest(name, append(names, "bench"))
	if nearest == "bench" {
		return command{}, cli.Errorf("unknown command '%s'; to load a server, use redis-benchmark, as in 'redis-benchmark -r 100000 TB.ACQUIRE user:__rand_int__ 100 10/s'", name)
	}
	return command{}, cli.Errorf("unknown command '%s'%s", name, cli.DidYouMean(nearest, "; 'stint help' lists the commands"))
}

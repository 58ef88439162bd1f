package cli

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/stintdb/stint/internal/spelling"
)

// NewFlags returns an empty set of flags for a command. The set reports problems only as errors.
func NewFlags(command string) *pflag.FlagSet {
	set := pflag.NewFlagSet("stint "+command, pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	return set
}

// ParseFlags reads the flags of a command other than the server. Its error wraps pflag.ErrHelp if args ask for help.
// Any other error ends with a hint at --help.
func ParseFlags(set *pflag.FlagSet, args []string) error {
	err := set.Parse(args)
	if err == nil {
		return nil
	}
	help := fmt.Sprintf("; '%s --help' explains", set.Name())
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		help = DidYouMean(suggestFlag(set, unknown.GetSpecifiedName()), help)
	}
	return Errorf("%w%s", err, help)
}

// suggestFlag is the flag of a command that a name seems to mean, "" if none does.
func suggestFlag(set *pflag.FlagSet, name string) string {
	var names []string
	set.VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	nearest := spelling.Nearest(name, names)
	if slices.Contains([]string{"server", "host", "addr", "address", "url"}, name) && set.Lookup("admin") != nil {
		nearest = "admin"
	}
	if nearest == "" {
		return ""
	}
	return "--" + nearest
}

// ParseOnlyFlags reads the flags of a command that takes nothing else.
func ParseOnlyFlags(set *pflag.FlagSet, args []string) error {
	if err := ParseFlags(set, args); err != nil || set.NArg() == 0 {
		return err
	}
	return Errorf("%s takes flags only, got '%s'; '%s --help' explains", strings.TrimPrefix(set.Name(), "stint "), set.Arg(0), set.Name())
}

package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/stintdb/stint/internal/spelling"
	"github.com/stintdb/stint/server/config"
)

// newFlags returns an empty set of flags for a command. The set reports problems only as errors.
func newFlags(command string) *pflag.FlagSet {
	set := pflag.NewFlagSet("stint "+command, pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.Usage = func() {}
	return set
}

// parseFlags reads the flags of a command other than the server. Its error wraps pflag.ErrHelp if args ask for help.
// Any other error ends with a hint at --help.
func parseFlags(set *pflag.FlagSet, args []string) error {
	err := set.Parse(args)
	if err == nil {
		return nil
	}
	help := fmt.Sprintf("; '%s --help' explains", set.Name())
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		help = didYouMean(suggestFlag(set, unknown.GetSpecifiedName()), help)
	}
	return usagef("%w%s", err, help)
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

// parseOnlyFlags reads the flags of a command that takes nothing else.
func parseOnlyFlags(set *pflag.FlagSet, args []string) error {
	if err := parseFlags(set, args); err != nil || set.NArg() == 0 {
		return err
	}
	return usagef("%s takes flags only, got '%s'; '%s --help' explains", strings.TrimPrefix(set.Name(), "stint "), set.Arg(0), set.Name())
}

// readFlags reads the server's flags. Values are checked later, together with those of other sources.
func readFlags(args []string) ([]assignment, error) {
	set := newFlags("server")
	var found []assignment
	for i := range config.Settings {
		flag := set.VarPF(&flagValue{setting: &config.Settings[i], found: &found}, config.Settings[i].Name, "", "")
		if config.Settings[i].Type() == config.TypeToggle {
			flag.NoOptDefVal = "yes"
		}
	}
	if err := set.Parse(joinToggles(args)); err != nil {
		return nil, explainFlag(err)
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("the server takes flags only, got '%s'; to read a configuration file, write --config FILE", set.Arg(0))
	}
	return found, nil
}

// joinToggles makes --protected-mode no, as Redis has it, --protected-mode=no: pflag takes the value of a flag that needs none only in this form.
func joinToggles(args []string) (joined []string) {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		name, isFlag := strings.CutPrefix(arg, "--")
		setting, known := config.Lookup(name)
		switch {
		case arg == "--":
			return append(joined, args[i:]...)
		case !isFlag || !known || i+1 == len(args):
		case setting.Type() != config.TypeToggle:
			i++
			joined = append(joined, arg)
			arg = args[i]
		case !strings.HasPrefix(args[i+1], "-"):
			i++
			arg += "=" + args[i]
		}
		joined = append(joined, arg)
	}
	return joined
}

// flagValue is a pflag.Value that records the value of a flag. A list given several times becomes one value with
// commas.
type flagValue struct {
	setting *config.Setting
	found   *[]assignment
	given   []string
}

func (v *flagValue) String() string { return strings.Join(v.given, ",") }
func (v *flagValue) Type() string   { return v.setting.Type() }

func (v *flagValue) Set(text string) error {
	if v.setting.IsList() {
		v.given = append(v.given, text)
		text = v.String()
	}
	*v.found = append(*v.found, assignment{v.setting, text, "--" + v.setting.Name})
	return nil
}

const seeHelp = "; 'stint server --help' lists the flags"

// explainFlag rewords pflag's errors.
func explainFlag(err error) error {
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		flag, name := "--"+unknown.GetSpecifiedName(), unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			flag, name = "-"+short, short
		}
		suggestion := config.Suggest(name)
		if suggestion != "" {
			suggestion = "--" + suggestion
		}
		return fmt.Errorf("unknown flag %s%s", flag, didYouMean(suggestion, seeHelp))
	}
	if valueless, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		if setting, found := config.Lookup(valueless.GetSpecifiedName()); found {
			return fmt.Errorf("--%s needs a value: --%s %s", setting.Name, setting.Name, setting.Placeholder)
		}
	}
	return err
}

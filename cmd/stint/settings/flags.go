package settings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/server/config"
)

// readFlags reads the server's flags. Values are checked later, together with the values of other sources.
func readFlags(args []string) ([]assignment, error) {
	set := cli.NewFlags("server")
	var found []assignment
	for i := range config.Settings {
		flag := set.VarPF(&flagValue{setting: &config.Settings[i], found: &found}, config.Settings[i].Name, "", "")
		if config.Settings[i].Type() == config.TypeToggle {
			flag.NoOptDefVal = "yes"
		}
	}
	helpAll := set.Bool("help-all", false, "")
	if err := set.Parse(joinToggles(args)); err != nil {
		return nil, explainFlag(err)
	}
	if *helpAll {
		return nil, ErrHelpAll
	}
	if set.NArg() > 0 {
		return nil, fmt.Errorf("the server takes flags only, got '%s'; to read a configuration file, write --config FILE", set.Arg(0))
	}
	return found, nil
}

// joinToggles makes --protected-mode no, as Redis has it, --protected-mode=no: pflag takes the value of a flag that
// needs none only in this form.
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

const seeHelp = "; 'stint server --help-all' lists the flags"

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
		return fmt.Errorf("unknown flag %s%s", flag, cli.DidYouMean(suggestion, seeHelp))
	}
	if valueless, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		if setting, found := config.Lookup(valueless.GetSpecifiedName()); found {
			return fmt.Errorf("--%s needs a value: --%s %s", setting.Name, setting.Name, setting.Placeholder)
		}
	}
	return err
}

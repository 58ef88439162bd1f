package main

import (
	"cmp"
	"errors"

	"github.com/stintdb/stint/server/config"
)

// assignment is one value for one setting and where it came from.
type assignment struct {
	setting *config.Setting
	text    string
	from    string // a flag, an environment variable, or a file and line; errors begin with it
}

// load reads the settings of a server. A flag wins over an environment variable, which wins over the configuration
// file, which wins over the default; but a wrong value is an error even if another one wins. The error is a sentence
// with the remedy, or pflag.ErrHelp if the flags ask for help.
func load(args, environ []string, readFile func(name string) ([]byte, error)) (config.Config, error) {
	return loadOver(nil, args, environ, readFile)
}

// loadOver is load with values in place of the defaults.
func loadOver(given []assignment, args, environ []string, readFile func(name string) ([]byte, error)) (config.Config, error) {
	flags, err := readFlags(args)
	if err != nil {
		return config.Config{}, err
	}
	variables, err := readEnvironment(environ)
	if err != nil {
		return config.Config{}, err
	}
	var entries []assignment
	if name := cmp.Or(fileNamed(flags), fileNamed(variables)); name != "" {
		if entries, err = readConfigFile(name, readFile); err != nil {
			return config.Config{}, err
		}
	}
	cfg := config.Default()
	for _, source := range [][]assignment{given, entries, variables, flags} {
		if err := assign(&cfg, source); err != nil {
			return config.Config{}, err
		}
	}
	return cfg, cfg.Check()
}

// fileNamed returns the configuration file that a source names last, or "".
func fileNamed(source []assignment) string {
	name := ""
	for _, a := range source {
		if !a.setting.InFile() {
			name = a.text
		}
	}
	return name
}

// assign sets the values of one source, in order.
func assign(cfg *config.Config, source []assignment) error {
	for _, a := range source {
		err := a.setting.Set(cfg, a.text)
		if invalid, ok := errors.AsType[*config.InvalidError](err); ok {
			invalid.Name = a.from
		}
		if err != nil {
			return err
		}
	}
	return nil
}

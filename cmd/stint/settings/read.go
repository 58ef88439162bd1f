package settings

import (
	"cmp"

	"github.com/stintdb/stint/server/config"
)

// Read reads the settings of a server. A flag wins over an environment variable, which wins over the configuration
// file, which wins over the default; but a wrong value is an error even if another one wins. A program called
// ratelimit, or with the variable CONFIG_TYPE, also reads the variables of envoyproxy/ratelimit, below all of these;
// warnings name those without effect. The error is a sentence with the remedy, or wraps pflag.ErrHelp if the flags ask
// for help.
func Read(program string, args, environ []string, readFile func(name string) ([]byte, error)) (cfg config.Config, warnings []Warning, err error) {
	if !readsRatelimit(program, environ) {
		cfg, err = loadOver(nil, args, environ, readFile)
		return cfg, nil, err
	}
	other := readRatelimit(environ)
	if other.err != nil {
		return cfg, nil, other.err
	}
	if cfg, err = loadOver(other.found, args, environ, readFile); err == nil {
		other.fit(&cfg)
	}
	return cfg, other.warnings, err
}

// loadOver reads the settings, with values in place of the defaults.
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

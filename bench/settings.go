package main

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Settings hold the command line.
type Settings struct {
	Rounds     int
	Cell       time.Duration
	Keys       int
	Kept       int // keys in a snapshot
	ManyKeys   int // keys of the server with many
	Quick      bool
	Docs       bool
	Generators int      // redis-benchmarks at a time
	Only       []string // names of servers and of other parts; empty: all
	RedisCell  string   // a checkout of redis-cell; may be empty
	Others     []Server
}

const (
	minRounds     = 3 // fewer have no useful median
	maxRounds     = 999
	maxGenerators = connections // each has a connection at least
	maxKeys       = 100_000_000 // so that the keys of all rounds fit into 12 digits
)

// quickDefaults replace the defaults of flags that are not given.
var quickDefaults = map[string]string{"cell": "200ms", "keys": "200000", "kept-keys": "200000", "many-keys": "1000000"}

func parseSettings(args []string, usage io.Writer) (Settings, error) {
	var s Settings
	var others otherFlags
	var only string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.IntVar(&s.Rounds, "rounds", minRounds, "number of rounds of measurements; medians are printed")
	flags.DurationVar(&s.Cell, "cell", 2*time.Second, "approximate duration of one measurement")
	flags.IntVar(&s.Keys, "keys", 1_000_000, "keys loaded to measure memory")
	flags.IntVar(&s.Kept, "kept-keys", 10_000_000, "keys in the snapshot that is written and recovered")
	flags.IntVar(&s.ManyKeys, "many-keys", 100_000_000, "keys of the server with very many")
	flags.IntVar(&s.Generators, "generators", 1, "redis-benchmarks that send the load of the first tables together; more than one only helps with cores that the server does not need")
	flags.BoolVar(&s.Quick, "quick", false, "measure every part in a minute or two, with rough figures")
	flags.BoolVar(&s.Docs, "docs", false, "also write the tables of docs/performance.md, and docs/cpu.svg, with the figures of earlier runs like this one for other parts")
	flags.StringVar(&only, "only", "", "run only these servers and parts, by name, separated by commas; the parts are "+strings.Join(partNames(), ", "))
	flags.StringVar(&s.RedisCell, "redis-cell", "", "also measure redis-cell, built by cargo from the checkout in this `folder`")
	flags.Var(&others, "other", "another server, `name=host:port[@pid][,command template]`; may be repeated")
	if err := flags.Parse(args); err != nil {
		return Settings{}, err
	}
	if flags.NArg() > 0 {
		return Settings{}, fmt.Errorf("unexpected argument %q (command templates with spaces need quotes)", flags.Arg(0))
	}
	if s.Quick {
		given := map[string]bool{}
		flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
		for name, value := range quickDefaults {
			if !given[name] {
				if err := flags.Set(name, value); err != nil {
					return Settings{}, err
				}
			}
		}
	}
	s.Others = others
	if only != "" {
		s.Only = strings.Split(only, ",")
	}
	return s, s.check()
}

func (s Settings) check() error {
	switch {
	case s.Rounds < minRounds || s.Rounds > maxRounds:
		return fmt.Errorf("-rounds: must be between %d and %d, got %d", minRounds, maxRounds, s.Rounds)
	case s.Cell < 10*time.Millisecond || s.Cell > time.Minute:
		return fmt.Errorf("-cell: must be between 10ms and 1m, got %s", s.Cell)
	case s.Generators < 1 || s.Generators > maxGenerators:
		return fmt.Errorf("-generators: must be between 1 and %d, got %d", maxGenerators, s.Generators)
	case s.Keys < 1000 || s.Keys > maxKeys:
		return fmt.Errorf("-keys: must be between 1000 and %d, got %d", maxKeys, s.Keys)
	case s.Kept < 1000 || s.Kept > maxKeys:
		return fmt.Errorf("-kept-keys: must be between 1000 and %d, got %d", maxKeys, s.Kept)
	case s.ManyKeys < 1000 || s.ManyKeys > maxKeys:
		return fmt.Errorf("-many-keys: must be between 1000 and %d, got %d", maxKeys, s.ManyKeys)
	}
	return nil
}

// allServers reports whether the servers of the first tables are all measured.
func (s Settings) allServers() bool { return len(s.Only) == 0 || slices.Contains(s.Only, onlyServers) }

// pick applies -only to the table of servers and appends the others.
func (s Settings) pick(table []Server) ([]Server, error) {
	all := append(table, s.Others...)
	seen := map[string]bool{}
	for _, server := range all {
		if seen[server.Name] {
			return nil, fmt.Errorf("two servers are named %q", server.Name)
		}
		seen[server.Name] = true
	}
	for _, name := range s.Only {
		if !seen[name] && !slices.Contains(partNames(), name) {
			return nil, fmt.Errorf("-only: there is no server %q", name)
		}
	}
	return slices.DeleteFunc(all, func(server Server) bool {
		return !s.allServers() && !slices.Contains(s.Only, server.Name)
	}), nil
}

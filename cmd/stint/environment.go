package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/stintdb/stint/server/config"
)

// readEnvironment picks the settings out of the environment. A variable that is set but empty counts as not set, as
// compose files and scripts produce it when they hand on a variable they do not have.
func readEnvironment(environ []string) ([]assignment, error) {
	byName := map[string]*config.Setting{}
	for i := range config.Settings {
		byName[config.Settings[i].Env()] = &config.Settings[i]
	}
	var found []assignment
	for _, variable := range environ {
		name, text, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, config.EnvPrefix) || text == "" || fromKubernetes(name, text) {
			continue
		}
		setting, known := byName[name]
		if !known {
			return nil, unknownVariable(name)
		}
		found = append(found, assignment{setting, text, name})
	}
	return found, nil
}

func unknownVariable(name string) error {
	suggestion := config.Suggest(strings.TrimPrefix(name, config.EnvPrefix))
	if setting, found := config.Lookup(suggestion); found {
		suggestion = setting.Env()
	}
	return fmt.Errorf("unknown environment variable %s%s", name,
		didYouMean(suggestion, "; 'stint server --help' lists them, unset it if it is not for Stint"))
}

// Kubernetes describes every service of a namespace to every pod in it by variables; those of a service called stint,
// or stint-something, look like ours.
var (
	serviceVariable = regexp.MustCompile(`_SERVICE_(HOST|PORT(_.+)?)$`)
	linkVariable    = regexp.MustCompile(`_PORT(_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)?$`)
	linkAddress     = regexp.MustCompile(`^(tcp|udp|sctp)://`)
)

func fromKubernetes(name, text string) bool {
	if serviceVariable.MatchString(name) {
		return true
	}
	match := linkVariable.FindStringSubmatch(name)
	// STINT_PORT=6379 is a person's mistake, STINT_PORT=tcp://10.0.0.7:6379 is not.
	return match != nil && (match[1] != "" || linkAddress.MatchString(text))
}

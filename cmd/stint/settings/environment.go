package settings

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/stintdb/stint/cmd/stint/cli"
	"github.com/stintdb/stint/server/config"
)

// readEnvironment picks the settings out of the environment. An empty variable counts as not set, because compose files
// and scripts produce it when they pass on a variable that is not set.
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
		cli.DidYouMean(suggestion, "; 'stint server --help-all' lists them; unset it if it is not for Stint"))
}

// Kubernetes sets variables for every service of a namespace in every pod; those of a service called stint, or
// stint-something, look like settings.
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
	// STINT_PORT=6379 is a user's mistake, STINT_PORT=tcp://10.0.0.7:6379 is not.
	return match != nil && (match[1] != "" || linkAddress.MatchString(text))
}

package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// instruction is a line of a Dockerfile.
var instruction = regexp.MustCompile(`(?m)^([A-Z]+) (.+)$`)

// dockerfile is what the last stage of a Dockerfile says of the image.
type dockerfile struct {
	settings v1.Config
	files    []entry // beside the program
}

// readDockerfile reads the last stage. It knows the instructions of docker/Dockerfile, and refuses others.
func readDockerfile(text string) (*dockerfile, error) {
	build, last, found := strings.Cut(text, "\nFROM scratch\n")
	if !found {
		return nil, fmt.Errorf("no last stage from scratch")
	}
	d := &dockerfile{}
	for _, line := range instruction.FindAllStringSubmatch(last, -1) {
		err := d.set(line[1], line[2])
		if line[1] == "COPY" {
			err = d.copyFolder(line[2], build)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line[0], err)
		}
	}
	return d, nil
}

var (
	copied = regexp.MustCompile(`^--from=build (?:--chown=(\d+):\d+ )?(/out/\S+) /(\S+)$`)
	linked = regexp.MustCompile(`ln -s (\S+) (/out/\S+)/(\S+)`)
)

// copyFolder adds the folder that an instruction copies, with the links that the stage before it has made there.
func (d *dockerfile) copyFolder(instruction, build string) error {
	words := copied.FindStringSubmatch(instruction)
	switch {
	case words == nil:
		return fmt.Errorf("it is not --from=build [--chown=USER:GROUP] /out/NAME /NAME")
	case words[2] == "/out/stint" && words[3] == "stint":
		return nil
	}
	user, _ := strconv.Atoi(words[1]) // "" is 0
	d.files = append(d.files, entry{name: words[3] + "/", mode: 0o755, user: user})
	for _, link := range linked.FindAllStringSubmatch(build, -1) {
		if link[2] == words[2] {
			d.files = append(d.files, entry{name: words[3] + "/" + link[3], mode: 0o777, user: user, link: link[1]})
		}
	}
	return nil
}

// set carries out an instruction about containers.
func (d *dockerfile) set(word, rest string) (err error) {
	c := &d.settings
	switch word {
	case "COPY":
	case "USER":
		c.User = rest
	case "ENV":
		c.Env = append(c.Env, strings.Fields(rest)...)
	case "EXPOSE":
		c.ExposedPorts = map[string]struct{}{}
		for _, port := range strings.Fields(rest) {
			c.ExposedPorts[port+"/tcp"] = struct{}{}
		}
	case "VOLUME":
		c.Volumes = map[string]struct{}{rest: {}}
	case "STOPSIGNAL":
		c.StopSignal = rest
	case "HEALTHCHECK":
		c.Healthcheck, err = healthcheck(rest)
	case "ENTRYPOINT":
		err = json.Unmarshal([]byte(rest), &c.Entrypoint)
	case "CMD":
		err = json.Unmarshal([]byte(rest), &c.Cmd)
	default:
		return fmt.Errorf("%s is not known here", word)
	}
	return err
}

func healthcheck(rest string) (*v1.HealthConfig, error) {
	options, command, _ := strings.Cut(rest, " CMD ")
	h := &v1.HealthConfig{}
	var words []string
	if err := json.Unmarshal([]byte(command), &words); err != nil {
		return nil, err
	}
	h.Test = append([]string{"CMD"}, words...)
	for _, option := range strings.Fields(options) {
		name, value, _ := strings.Cut(strings.TrimPrefix(option, "--"), "=")
		if name == "retries" {
			if _, err := fmt.Sscan(value, &h.Retries); err != nil {
				return nil, err
			}
			continue
		}
		d, err := time.ParseDuration(value)
		if err != nil {
			return nil, err
		}
		switch name {
		case "interval":
			h.Interval = d
		case "timeout":
			h.Timeout = d
		case "start-period":
			h.StartPeriod = d
		default:
			return nil, fmt.Errorf("--%s is not known here", name)
		}
	}
	return h, nil
}

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// image writes an image for each processor of Linux, and an index of them, in OCI layout: what docker/Dockerfile
// builds, without Docker. `skopeo copy oci:FOLDER:VERSION docker-daemon:stint:VERSION` gives it to Docker.
func (r *release) image(targets []target) error {
	said, err := os.ReadFile(filepath.Join(r.root, "docker/Dockerfile"))
	if err != nil {
		return err
	}
	settings, err := lastStage(string(said))
	if err != nil {
		return fmt.Errorf("docker/Dockerfile: %w", err)
	}
	index := v1.ImageIndex(empty.Index)
	for _, t := range targets {
		if t.system != "linux" {
			continue
		}
		image, err := r.imageFor(t, settings)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: t.system, Architecture: t.processor},
		}})
	}
	folder, err := layout.Write(r.path("stint_"+r.version+"_image"), empty.Index)
	if err != nil {
		return err
	}
	return folder.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": r.version}))
}

func (r *release) imageFor(t target, settings v1.Config) (v1.Image, error) {
	program, err := os.ReadFile(t.program)
	if err != nil {
		return nil, err
	}
	const user = 65532 // as in the Dockerfile
	files, err := packed([]entry{{"stint", 0o755, 0, program}, {"data/", 0o755, user, nil}}, r.moment)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, err
	}
	about, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	about = about.DeepCopy()
	about.OS, about.Architecture, about.Created, about.Config = t.system, t.processor, v1.Time{Time: r.moment}, settings
	return mutate.ConfigFile(image, about)
}

// instruction is a line of a Dockerfile.
var instruction = regexp.MustCompile(`(?m)^([A-Z]+) (.+)$`)

// lastStage reads the settings of containers in the last stage of a Dockerfile. It knows the instructions of
// docker/Dockerfile, and refuses others.
func lastStage(text string) (c v1.Config, err error) {
	at := strings.LastIndex(text, "\nFROM scratch\n")
	if at < 0 {
		return c, fmt.Errorf("no last stage from scratch")
	}
	for _, line := range instruction.FindAllStringSubmatch(text[at+1:], -1) {
		word, rest := line[1], line[2]
		switch word {
		case "FROM", "COPY":
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
			return c, fmt.Errorf("%s is not known here", word)
		}
		if err != nil {
			return c, fmt.Errorf("%s: %w", line[0], err)
		}
	}
	return c, nil
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

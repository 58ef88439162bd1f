package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// image writes what docker/Dockerfile builds, without Docker: for each processor of Linux an archive that
// `docker load --input` takes, and in OCI layout an index of the images, for registries.
func (r *release) image(targets []target) error {
	text, err := os.ReadFile(filepath.Join(r.root, "docker/Dockerfile"))
	if err != nil {
		return err
	}
	said, err := readDockerfile(string(text))
	if err != nil {
		return fmt.Errorf("docker/Dockerfile: %w", err)
	}
	tag, err := name.NewTag(r.ProjectName + ":" + r.version)
	if err != nil {
		return err
	}
	index := v1.ImageIndex(empty.Index)
	for _, t := range targets {
		if t.system != "linux" {
			continue
		}
		image, err := r.imageFor(t, said)
		if err == nil {
			err = tarball.WriteToFile(r.path(fmt.Sprintf("stint_%s_docker_%s.tar", r.version, t.processor)), tag, image)
		}
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

func (r *release) imageFor(t target, said *dockerfile) (v1.Image, error) {
	program, err := os.ReadFile(t.program)
	if err != nil {
		return nil, err
	}
	files, err := packed(append([]entry{{name: "stint", mode: 0o755, content: program}}, said.files...), r.moment)
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
	about.OS, about.Architecture, about.Created, about.Config = t.system, t.processor, v1.Time{Time: r.moment}, said.settings
	return mutate.ConfigFile(image, about)
}

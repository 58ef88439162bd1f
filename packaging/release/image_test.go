package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// TestImage looks into the images that a release has: they are what docker/Dockerfile says.
func TestImage(t *testing.T) {
	r := newTestRelease(t)
	program := filepath.Join(t.TempDir(), "stint")
	if err := os.WriteFile(program, []byte("the program"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.image([]target{{"linux", "amd64", program}, {"darwin", "amd64", program}, {"linux", "arm64", program}}); err != nil {
		t.Fatal(err)
	}
	index, err := layout.ImageIndexFromPath(r.path("stint_0.0.9_image"))
	if err == nil {
		err = validate.Index(index)
	}
	if err != nil {
		t.Error(err)
	}
	for _, processor := range []string{"amd64", "arm64"} {
		image, err := tarball.ImageFromPath(r.path("stint_0.0.9_docker_"+processor+".tar"), nil)
		if err != nil {
			t.Fatal(err)
		}
		about, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if c := about.Config; about.Architecture != processor || c.User != "65532:65532" || !slices.Equal(c.Entrypoint, []string{"/stint"}) ||
			!slices.Contains(c.Env, "STINT_DIR=/data") || !slices.Equal(c.Healthcheck.Test, []string{"CMD", "/stint", "health"}) {
			t.Errorf("%s: its settings are %+v", about.Architecture, c)
		}
		layers, err := image.Layers()
		if err != nil || len(layers) != 1 {
			t.Fatal(len(layers), err)
		}
		content, err := layers[0].Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"stint 0 755 ", "bin/ 0 755 ", "bin/stint 0 777 /stint", "bin/ratelimit 0 777 /stint", "data/ 65532 755 ",
		}
		if got := listed(t, content); !slices.Equal(got, want) {
			t.Errorf("%s: it has %q, not %q", processor, got, want)
		}
	}
}

// listed has the name, the user, the mode and the link of each file in an archive.
func listed(t *testing.T, archive io.Reader) (all []string) {
	t.Helper()
	files := tar.NewReader(archive)
	for {
		h, err := files.Next()
		switch {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %d %o %s", h.Name, h.Uid, h.Mode, h.Linkname))
	}
}

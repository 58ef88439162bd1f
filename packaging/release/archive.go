package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// entry is a file of an archive. A folder has no content and a name that ends with a slash.
type entry struct {
	name    string
	mode    int64
	user    int // and group
	content []byte
	link    string // of a symbolic link: what it names
}

// packed is the entries as a tar, all of one moment.
func packed(entries []entry, moment time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Uid: e.user, Gid: e.user, Size: int64(len(e.content)), ModTime: moment, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if e.name[len(e.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if e.link != "" {
			h.Typeflag, h.Linkname = tar.TypeSymlink, e.link
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// compressed is data as gzip compresses it, without a name and a time.
func compressed(data []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// store writes entries as a compressed archive.
func (r *release) store(name string, entries []entry) error {
	data, err := packed(entries, r.moment)
	if err == nil {
		data, err = compressed(data)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(r.path(name), data, 0o644)
}

// archive stores the program for a target, with the files that go along.
func (r *release) archive(t target) error {
	program, err := os.ReadFile(t.program)
	if err != nil {
		return err
	}
	entries := []entry{{name: filepath.Base(t.program), mode: 0o755, content: program}}
	for _, file := range r.Archives[0].Files {
		content, err := os.ReadFile(filepath.Join(r.root, file.Source))
		if err != nil {
			return err
		}
		entries = append(entries, entry{name: file.Source, mode: 0o644, content: content})
	}
	if t.system == "windows" {
		return r.zip(r.archiveName(t), entries)
	}
	return r.store(r.archiveName(t), entries)
}

// archiveName is the name of a target's archive.
func (r *release) archiveName(t target) string {
	format := "tar.gz"
	if t.system == "windows" {
		format = "zip"
	}
	return fmt.Sprintf("%s_%s_%s_%s.%s", r.ProjectName, r.version, t.system, t.processor, format)
}

// zip writes entries as an archive for Windows.
func (r *release) zip(name string, entries []entry) error {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, e := range entries {
		in, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: r.moment})
		if err == nil {
			_, err = in.Write(e.content)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(r.path(name), out.Bytes(), 0o644)
}

// published is where the image of a release is. A chart that is not released yet starts the image of this machine.
const published = "ghcr.io/stintdb/stint"

// chart stores the Helm chart as `helm install` takes it.
func (r *release) chart([]target) error {
	folder := filepath.Join(r.root, "packaging/helm")
	var entries []entry
	err := filepath.WalkDir(filepath.Join(folder, "stint"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if r.isReleased && d.Name() == "values.yaml" {
			content = bytes.Replace(content, []byte("\n  repository: stint\n"), []byte("\n  repository: "+published+"\n"), 1)
		}
		name, err := filepath.Rel(folder, path)
		entries = append(entries, entry{name: filepath.ToSlash(name), mode: 0o644, content: content})
		return err
	})
	if err != nil {
		return err
	}
	return r.store("stint-chart_"+r.version+".tgz", entries)
}

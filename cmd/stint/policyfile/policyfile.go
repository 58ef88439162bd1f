// Package policyfile reads and writes files of policies, in TOML and in YAML.
package policyfile

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/stintdb/stint/server/policyset"
)

// Schema is the JSON schema of files of policies, by which editors complete and check them.
//
//go:embed schema.json
var Schema string

// file is the contents of a file.
type file struct {
	Policies policyset.Set `toml:"policies" yaml:"policies"`
}

// Format is the language of a file.
type Format string

// The formats.
const (
	TOML Format = "toml"
	YAML Format = "yaml"
)

// FormatOf returns the format of a file by the end of its name: .toml, .yaml or .yml.
func FormatOf(name string) (Format, error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".toml":
		return TOML, nil
	case ".yaml", ".yml":
		return YAML, nil
	}
	return "", fmt.Errorf("%s: the name of a file of policies must end in .toml, .yaml or .yml", name)
}

// Read reads the contents of a file. It refuses names that mean nothing, with their line.
func Read(text []byte, format Format) (policyset.Set, error) {
	var f file
	var err error
	if format == YAML {
		err = readYAML(text, &f)
	} else {
		err = toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&f)
		err = explain(err)
	}
	if err != nil {
		return nil, err
	}
	if f.Policies == nil {
		return nil, errors.New("it has no policies: to remove all policies, write an empty table named policies")
	}
	return f.Policies, nil
}

// explain adds the line to an error of the TOML library.
func explain(err error) error {
	if unknown := new(toml.StrictMissingError); errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		line, _ := unknown.Errors[0].Position()
		return fmt.Errorf("line %d: %s means nothing in a file of policies", line, strings.Join(unknown.Errors[0].Key(), "."))
	}
	if wrong := new(toml.DecodeError); errors.As(err, &wrong) {
		line, _ := wrong.Position()
		return fmt.Errorf("line %d: %s", line, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	return err
}

func readYAML(text []byte, f *file) error {
	in := yaml.NewDecoder(bytes.NewReader(text))
	in.KnownFields(true)
	if err := in.Decode(f); err != nil && !errors.Is(err, io.EOF) {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if err := in.Decode(new(file)); !errors.Is(err, io.EOF) {
		return errors.New("it has more than one document")
	}
	return nil
}

// Write returns the contents of a file with these policies.
func Write(set policyset.Set, format Format) ([]byte, error) {
	var b bytes.Buffer
	if format == YAML {
		out := yaml.NewEncoder(&b)
		out.SetIndent(2)
		err := errors.Join(out.Encode(file{set}), out.Close())
		return b.Bytes(), err
	}
	out := toml.NewEncoder(&b)
	out.SetArraysMultiline(true)
	err := out.Encode(file{set})
	return b.Bytes(), err
}

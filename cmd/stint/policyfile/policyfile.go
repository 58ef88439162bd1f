// Package policyfile reads and writes files of policies, in TOML and in YAML.
package policyfile

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"go.yaml.in/yaml/v3"

	"github.com/stintdb/stint/cmd/stint/settings"
	"github.com/stintdb/stint/server/policyset"
)

// Schema is the JSON schema of files of policies, by which editors complete and check them.
//
//go:embed schema.json
var Schema string

// file is the contents of a file.
type file struct {
	Policies *policyset.Set `toml:"policies" yaml:"policies"` // nil if the file has no such table, even an empty one
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
	text = bytes.TrimPrefix(text, []byte(settings.ByteOrderMark))
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
	return *f.Policies, nil
}

// wants says what a name of a file must have, by the type that it has in Go.
var wants = map[string]string{
	"[]string":            `must be a list of limits, such as ["TB user:{} 100 100/m"]`,
	"bool":                "must be true or false",
	"map[string][]string": "must have a list of limits for each caller's id",
	"policyset.Policy":    "must have limits, and perhaps shadow, strict and overrides",
	"policyset.Set":       "must have policies by their names",
}

// meansNothing says that a file has a name that no policy has.
func meansNothing(name string) string { return name + " means nothing in a file of policies" }

// explain adds the line to an error of the TOML library.
func explain(err error) error {
	if unknown := new(toml.StrictMissingError); errors.As(err, &unknown) && len(unknown.Errors) > 0 {
		line, _ := unknown.Errors[0].Position()
		return fmt.Errorf("line %d: %s", line, meansNothing(strings.Join(unknown.Errors[0].Key(), ".")))
	}
	if wrong := new(toml.DecodeError); errors.As(err, &wrong) {
		line, _ := wrong.Position()
		if _, kind, is := strings.Cut(wrong.Error(), " of type "); is && wants[kind] != "" {
			return fmt.Errorf("line %d: %s %s", line, strings.Join(wrong.Key(), "."), wants[kind])
		}
		return fmt.Errorf("line %d: %s", line, strings.TrimPrefix(wrong.Error(), "toml: "))
	}
	return err
}

func readYAML(text []byte, f *file) error {
	in := yaml.NewDecoder(bytes.NewReader(text))
	in.KnownFields(true)
	if err := in.Decode(f); err != nil && !errors.Is(err, io.EOF) {
		return explainYAML(err)
	}
	if err := in.Decode(new(file)); !errors.Is(err, io.EOF) {
		return errors.New("it has more than one document")
	}
	return nil
}

var (
	unknownInYAML = regexp.MustCompile(`field (.*) not found in type .*`)
	wrongInYAML   = regexp.MustCompile(`cannot unmarshal (.*) into (.*)`)
)

// explainYAML puts the first error of the YAML library into the words of a file.
func explainYAML(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if wrong := new(yaml.TypeError); errors.As(err, &wrong) && len(wrong.Errors) > 0 {
		text = wrong.Errors[0]
	}
	if name := unknownInYAML.FindStringSubmatch(text); name != nil {
		text = strings.Replace(text, name[0], meansNothing(name[1]), 1)
	}
	if kind := wrongInYAML.FindStringSubmatch(text); kind != nil && wants[kind[2]] != "" {
		text = strings.Replace(text, kind[0], kind[1]+" "+wants[kind[2]], 1)
	}
	return errors.New(text)
}

// Write returns the contents of a file with these policies.
func Write(set policyset.Set, format Format) ([]byte, error) {
	var b bytes.Buffer
	if format == YAML {
		out := yaml.NewEncoder(&b)
		out.SetIndent(2)
		err := errors.Join(out.Encode(file{&set}), out.Close())
		return b.Bytes(), err
	}
	out := toml.NewEncoder(&b)
	out.SetArraysMultiline(true)
	err := out.Encode(file{&set})
	return b.Bytes(), err
}

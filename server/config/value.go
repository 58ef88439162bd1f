package config

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Value parses and formats one field of a Config. It has the methods of pflag.Value, and one more.
type Value interface {
	String() string        // the text form, which Set reads back to the same value
	Set(text string) error // replaces the value, or returns an error with the allowed values and keeps the old one
	Type() string          // the kind of value, see [Setting.Type]
	Allowed() string       // what Set takes, a phrase that can follow "must be"
}

// must makes the error that lists the allowed values.
func must(be string) error { return errors.New("must be " + be) }

// integer is a count without a unit.
type integer struct {
	field    *int
	min, max int
}

func (v *integer) String() string  { return strconv.Itoa(*v.field) }
func (v *integer) Type() string    { return "int" }
func (v *integer) Allowed() string { return fmt.Sprintf("an integer between %d and %d", v.min, v.max) }

func (v *integer) Set(text string) error {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || text[0] == '+' || n < int64(v.min) || n > int64(v.max) {
		return must(v.Allowed())
	}
	*v.field = int(n)
	return nil
}

// toggle is yes or no. As a flag, it needs no value.
type toggle struct{ field *bool }

// TypeToggle is the type of settings that are yes or no.
const TypeToggle = "toggle"

func (v *toggle) Type() string    { return TypeToggle }
func (v *toggle) Allowed() string { return "yes or no" }

func (v *toggle) String() string {
	if *v.field {
		return "yes"
	}
	return "no"
}

func (v *toggle) Set(text string) error {
	switch strings.ToLower(text) {
	case "yes", "true", "on", "1":
		*v.field = true
	case "no", "false", "off", "0":
		*v.field = false
	default:
		return must(v.Allowed())
	}
	return nil
}

// word is one of a few fixed words.
type word struct {
	field   *string
	choices []string
}

func (v *word) String() string { return *v.field }
func (v *word) Type() string   { return "word" }

func (v *word) Allowed() string {
	last := len(v.choices) - 1
	return strings.Join(v.choices[:last], ", ") + " or " + v.choices[last]
}

func (v *word) Set(text string) error {
	lower := strings.ToLower(text)
	if !slices.Contains(v.choices, lower) {
		return must(v.Allowed())
	}
	*v.field = lower
	return nil
}

// printable reports whether a text can be written to a configuration file and shown in an error of one line.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, unicode.IsControl)
}

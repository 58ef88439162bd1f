// Package config holds every setting of a Stint server in one table, [Settings].
//
// A row has the name of a setting, its help, its allowed values and its field of [Config]. Flags, STINT_… environment
// variables, keys of the configuration file, CONFIG GET, SET and REWRITE, the help text and docs/configuration.md are
// all derived from the rows: a new setting is a field, its default and a row.
//
// The package does not decide where values come from. cmd/stint reads flags, environment and file, in that order of
// precedence; the CONFIG command changes a copy of the running Config. Both end with [Config.Check].
package config

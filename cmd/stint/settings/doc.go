// Package settings reads the settings of a server from flags, environment variables and a configuration file.
package settings

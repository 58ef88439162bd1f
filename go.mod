module github.com/stintdb/stint

go 1.26

require (
	github.com/pelletier/go-toml/v2 v2.4.3
	github.com/spf13/pflag v1.0.10
)

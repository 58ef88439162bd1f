package config

import (
	"slices"
	"strings"

	"github.com/stintdb/stint/server/ratefields"
)

// httpSettings are about clients and proxies that use HTTP.
var httpSettings = []Setting{
	{
		Name: "http-listen", Group: groupHTTP, Placeholder: "ADDRESS",
		Help:  "Address for HTTP requests, in the syntax of --listen. Without it, HTTP is off. May be repeated.",
		value: func(c *Config) Value { return &addresses{&c.HTTPListen, true} },
	},
	{
		Name: "http-tls-listen", Group: groupHTTP, Placeholder: "ADDRESS",
		Help:  "Address for HTTPS requests, with the certificate of --tls-cert and the CA of --tls-client-ca. May be repeated.",
		value: func(c *Config) Value { return &addresses{&c.HTTPTLSListen, true} },
	},
	{
		Name: "http-hosts", Group: groupHTTP, Placeholder: "NAME",
		Help:  "Names that are allowed in the header Host of requests without a password, separated by commas. Addresses and localhost are always allowed.",
		value: func(c *Config) Value { return &listValue{&c.HTTPHosts, namesForm("stint.internal"), maxPatterns} },
	},
	{
		Name: "http-origins", Group: groupHTTP, Placeholder: "ORIGIN",
		Help: "Web sites whose pages may send requests, such as https://app.example.com, separated by commas. Requests from other sites are refused unless they have a password.",
		value: func(c *Config) Value {
			return &listValue{&c.HTTPOrigins, namesForm("https://app.example.com"), maxPatterns}
		},
	},
	{
		Name: "ratelimit-fields", Group: groupHTTP, Placeholder: "STYLES",
		Help:  "Style of the response headers that say what is left of a limit. By default draft-10 over HTTP, and draft-6 for Envoy with --rls-headers.",
		value: func(c *Config) Value { return &textValue{&c.RateLimitFields, fieldsForm} },
	},
}

// fieldsForm is the form of --ratelimit-fields.
var fieldsForm = form{typePatterns, strings.Join(ratefields.Names(), ", ") + "; several separated by commas; or empty for the default", func(text string) bool {
	_, ok := ratefields.Parse(text)
	return ok || text == ""
}}

// RateLimitStyles returns the styles of RateLimitFields, or otherwise if there are none.
func (c *Config) RateLimitStyles(otherwise ratefields.Styles) ratefields.Styles {
	if styles, ok := ratefields.Parse(c.RateLimitFields); ok {
		return styles
	}
	return otherwise
}

func checkHTTP(c *Config) error {
	all := c.HTTPAddresses()
	if err := checkPorts(c, "--http-listen or --http-tls-listen", all, slices.Concat(c.Listen, c.TLSListen)); err != nil {
		return err
	}
	if len(all) == 0 && len(c.HTTPHosts)+len(c.HTTPOrigins) > 0 {
		return conflictf("--http-hosts and --http-origins are about requests to --http-listen: name an address there, or leave them out")
	}
	return nil
}

package config

import "slices"

// grpcSettings are about Envoy and other clients of its rate limit service.
var grpcSettings = []Setting{
	{
		Name: "grpc-listen", Group: groupGRPC, Placeholder: "ADDRESS",
		Help:  "Address for Envoy's rate limit service (gRPC), in the syntax of --listen. Without it, the service is off. May be repeated.",
		value: func(c *Config) Value { return &addresses{&c.GRPCListen, true} },
	},
	{
		Name: "grpc-tls-listen", Group: groupGRPC, Placeholder: "ADDRESS",
		Help:  "Address for Envoy's rate limit service with TLS, with the certificate of --tls-cert and the CA of --tls-client-ca. May be repeated.",
		value: func(c *Config) Value { return &addresses{&c.GRPCTLSListen, true} },
	},
	{
		Name: "rls-config", Group: groupGRPC, Placeholder: "PATH",
		Help:  "Directory with the rules for --grpc-listen: files NAME.yaml in the format of envoyproxy/ratelimit. Changed files are read again.",
		value: func(c *Config) Value { return &textValue{&c.RLSConfig, pathForm} },
	},
	{
		Name: "rls-headers", Group: groupGRPC, Placeholder: "YES",
		Help:  "Make Envoy add the headers of --ratelimit-fields to responses, and Retry-After to denials.",
		value: func(c *Config) Value { return &toggle{&c.RLSHeaders} },
	},
}

func checkGRPC(c *Config) error {
	all := c.GRPCAddresses()
	if err := checkPorts(c, "--grpc-listen or --grpc-tls-listen", all, slices.Concat(c.Listen, c.TLSListen, c.HTTPAddresses())); err != nil {
		return err
	}
	switch {
	case len(all) > 0 && c.RLSConfig == "" && c.RLSXDS == "":
		return conflictf("--grpc-listen (%s) needs rules: name their directory with --rls-config, or a control plane with --rls-xds", all[0])
	case len(all) == 0 && (c.RLSConfig != "" || c.RLSXDS != "" || c.RLSHeaders):
		return conflictf("--rls-config, --rls-xds and --rls-headers are for --grpc-listen: name an address there, or leave them out")
	}
	return checkXDS(c)
}

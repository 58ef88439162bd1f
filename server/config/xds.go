package config

// xdsSettings are about the control plane that pushes rules for grpc-listen. All of them need rls-xds.
var xdsSettings = []Setting{
	{
		Name: "rls-xds", Group: groupGRPC, Placeholder: "HOST:PORT",
		Help:  "Control plane that pushes the rules for --grpc-listen by xDS (ADS, state of the world), instead of --rls-config. With --dir, the last valid rules are kept for the next start.",
		value: func(c *Config) Value { return &textValue{&c.RLSXDS, controlForm} },
	},
	{
		Name: "rls-xds-node", Group: groupGRPC, Placeholder: "NAME",
		Help:  "Node id by which the control plane of --rls-xds knows this server.",
		value: func(c *Config) Value { return &textValue{&c.RLSXDSNode, nodeNameForm} },
	},
	{
		Name: "rls-xds-wait", Group: groupGRPC, Placeholder: "YES",
		Help:  "Become ready only once there are rules of --rls-xds, either pushed or saved. With no, the server is ready without rules, and grants all requests until rules arrive.",
		value: func(c *Config) Value { return &toggle{&c.RLSXDSWait} },
	},
	{
		Name: "rls-xds-tls", Group: groupGRPC, Placeholder: "YES",
		Help:  "Connect to --rls-xds over TLS. Changed certificate files are used for the next connection.",
		value: func(c *Config) Value { return &toggle{&c.RLSXDSTLS} },
	},
	{
		Name: "rls-xds-tls-cert", Group: groupGRPC, Placeholder: "FILE",
		Help:  "Certificate that this server shows to --rls-xds, in PEM.",
		value: func(c *Config) Value { return &textValue{&c.RLSXDSTLSCert, pathForm} },
	},
	{
		Name: "rls-xds-tls-key", Group: groupGRPC, Placeholder: "FILE",
		Help:  "Private key of --rls-xds-tls-cert, in PEM.",
		value: func(c *Config) Value { return &textValue{&c.RLSXDSTLSKey, pathForm} },
	},
	{
		Name: "rls-xds-tls-ca", Group: groupGRPC, Placeholder: "FILE",
		Help:  "CA certificates that sign the certificate of --rls-xds, in PEM. Default: the system's CAs.",
		value: func(c *Config) Value { return &textValue{&c.RLSXDSTLSCA, pathForm} },
	},
	{
		Name: "rls-xds-tls-name", Group: groupGRPC, Placeholder: "NAME",
		Help:  "Name that the certificate of --rls-xds must have. Default: the host of its address.",
		value: func(c *Config) Value { return &textValue{&c.RLSXDSTLSName, pathForm} },
	},
}

// checkXDS checks that the settings of the control plane agree.
func checkXDS(c *Config) error {
	if c.RLSXDS == "" {
		if s := firstGiven(c, xdsSettings); s != nil {
			return conflictf("--%s is about the control plane of --rls-xds: name its address there, or leave --%s out", s.Name, s.Name)
		}
		return nil
	}
	files := [...]string{c.RLSXDSTLSCert, c.RLSXDSTLSKey, c.RLSXDSTLSCA, c.RLSXDSTLSName}
	switch {
	case c.RLSConfig != "":
		return conflictf("--rls-config (%s) and --rls-xds (%s) both say where rules come from: leave one of them out", c.RLSConfig, c.RLSXDS)
	case c.RLSXDSNode == "":
		return conflictf("--rls-xds-node must not be empty: write the node id that the control plane has rules for")
	case !c.RLSXDSTLS && files != [4]string{}:
		return conflictf("--rls-xds-tls-cert, --rls-xds-tls-key, --rls-xds-tls-ca and --rls-xds-tls-name are for --rls-xds-tls: set that to yes, or leave them out")
	case (c.RLSXDSTLSCert == "") != (c.RLSXDSTLSKey == ""):
		return conflictf("--rls-xds-tls-cert and --rls-xds-tls-key belong together: name the files of both, or of none")
	}
	return nil
}

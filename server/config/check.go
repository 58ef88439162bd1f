package config

import "os"

// conflicts are the checks of settings that must agree with each other.
var conflicts = []func(*Config) error{checkBuffers, checkClientMemory, checkAddresses, checkDir, checkUsers, checkTLS, checkHTTP, checkGRPC, checkCluster, checkUpstream, checkAdmin}

// Check returns the first error in c, with its remedy: an [*InvalidError] for a value out of range, or an error
// wrapping [ErrConflict] for settings that contradict each other. It only reads the file system if Dir is set.
func (c *Config) Check() error {
	for i := range Settings {
		scratch := *c
		if err := Settings[i].Set(&scratch, Settings[i].Get(c)); err != nil {
			return err
		}
	}
	for _, contradicts := range conflicts {
		if err := contradicts(c); err != nil {
			return err
		}
	}
	return nil
}

func checkBuffers(c *Config) error {
	key, bulk := FormatSize(int64(c.MaxKeyBytes)), FormatSize(int64(c.MaxBulkBytes))
	if c.MaxKeyBytes > c.MaxBulkBytes {
		return conflictf("--max-key-size (%s) is more than --max-bulk-size (%s), so the longest keys could never arrive: "+
			"raise --max-bulk-size to at least %s or lower --max-key-size to %s", key, bulk, key, bulk)
	}
	if c.MaxBulkBytes >= c.QueryBufferBytes {
		return conflictf("--query-buffer-size (%s) must be more than --max-bulk-size (%s), or the longest arguments could "+
			"never arrive: raise --query-buffer-size or lower --max-bulk-size", FormatSize(int64(c.QueryBufferBytes)), bulk)
	}
	if c.MaxBulkBytes >= c.OutputBufferBytes {
		return conflictf("--output-buffer-size (%s) must be more than --max-bulk-size (%s), or the longest replies could "+
			"never leave: raise --output-buffer-size or lower --max-bulk-size", FormatSize(int64(c.OutputBufferBytes)), bulk)
	}
	return nil
}

// checkClientMemory checks that the buffers of clients fit into --max-memory.
func checkClientMemory(c *Config) error {
	if most := c.MaxMemoryBytes / maxClientShare; most > 0 && c.ClientBytes > most {
		return conflictf("--client-memory (%s) is more than a quarter of --max-memory (%s), which bounds the whole process: lower "+
			"--client-memory to %s or less, leave it out, or raise --max-memory to %s", FormatSize(c.ClientBytes),
			FormatSize(c.MaxMemoryBytes), FormatSize(most), FormatSize(c.ClientBytes*maxClientShare))
	}
	total, of := c.ClientBytes, "--client-memory"
	if total == 0 && c.MaxMemoryBytes == 0 {
		return nil
	}
	if total == 0 {
		total = c.ClientMemory(c.MaxMemoryBytes)
		of = "--client-memory, which follows from --max-memory (" + FormatSize(c.MaxMemoryBytes) + ")"
	}
	for _, one := range []struct {
		name  string
		bytes int
	}{{"--query-buffer-size", c.QueryBufferBytes}, {"--output-buffer-size", c.OutputBufferBytes}} {
		if int64(one.bytes) > total {
			return conflictf("%s (%s) is more than %s: all connections together may take %s; lower %s to that or raise --client-memory",
				one.name, FormatSize(int64(one.bytes)), of, FormatSize(total), one.name)
		}
	}
	return nil
}

func checkAddresses(c *Config) error {
	for i, a := range c.Listen {
		for _, b := range c.Listen[:i] {
			switch {
			case !overlap(a, b):
			case a == b:
				return conflictf("--listen names %s twice: remove one of them", a)
			default:
				return conflictf("--listen names %s and %s, which take the same port: remove one or change its port", b, a)
			}
		}
		if c.AdminAddress() != "" && overlap(a, c.Admin) {
			return conflictf("--admin (%s) takes the same port as --listen (%s): give --admin another port", c.Admin, a)
		}
	}
	return nil
}

func checkTLS(c *Config) error {
	if err := checkPorts(c, "--tls-listen", c.TLSListen, c.Listen); err != nil {
		return err
	}
	setting, address := needsCertificate(c)
	if setting == "" {
		if c.TLSCert != "" || c.TLSKey != "" || c.TLSClientCA != "" {
			return conflictf("--tls-cert, --tls-key and --tls-client-ca are for --tls-listen, --http-tls-listen, --grpc-tls-listen and --admin-tls: name an address there, or leave them out")
		}
		return nil
	}
	if c.TLSCert == "" || c.TLSKey == "" {
		return conflictf("--%s (%s) needs a certificate and its key: name their files with --tls-cert and --tls-key", setting, address)
	}
	return nil
}

// needsCertificate is the first setting that asks for TLS, and its address; "" if none does.
func needsCertificate(c *Config) (setting, address string) {
	switch {
	case len(c.TLSListen) > 0:
		return "tls-listen", c.TLSListen[0]
	case len(c.HTTPTLSListen) > 0:
		return "http-tls-listen", c.HTTPTLSListen[0]
	case len(c.GRPCTLSListen) > 0:
		return "grpc-tls-listen", c.GRPCTLSListen[0]
	case c.AdminTLS && c.Admin != "":
		return "admin-tls", c.Admin
	}
	return "", ""
}

func checkDir(c *Config) error {
	if c.Dir == "" {
		switch {
		case c.Durability != Default().Durability:
			return conflictf("--durability (%s) needs a directory to keep state in: name one with --dir, or leave --durability out", c.Durability)
		case c.SnapshotEvery != Default().SnapshotEvery:
			return conflictf("--snapshot-every (%s) needs a directory for the snapshots: name one with --dir, or leave --snapshot-every out", c.SnapshotEvery)
		case c.JournalBytes != Default().JournalBytes:
			return conflictf("--journal-size (%s) needs a directory for the journal: name one with --dir, or leave --journal-size out", FormatSize(c.JournalBytes))
		case c.Repair:
			return conflictf("--repair needs the directory to repair: name it with --dir, or leave --repair out")
		case c.Rewind:
			return conflictf("--rewind needs the directory of the state to rewind: name it with --dir, or leave --rewind out")
		}
		return nil
	}
	if info, err := os.Stat(c.Dir); err == nil && !info.IsDir() {
		return conflictf("--dir: %s is a file: name a directory, or one that can be created", quoted(c.Dir))
	}
	return nil
}

package config

import "os"

// contradictions are asked in turn by Check; each looks at settings that must agree.
var contradictions = []func(*Config) error{checkBuffers, checkAddresses, checkDir, checkUsers, checkTLS, checkCluster, checkAdmin}

// Check returns the first thing that is wrong with c in a sentence that says how to mend it: an [*InvalidError] for a
// value out of its range, an error wrapping [ErrContradiction] for settings that do not go together. It looks at the
// file system only if Dir is set.
func (c *Config) Check() error {
	for i := range Settings {
		scratch := *c
		if err := Settings[i].Set(&scratch, Settings[i].Get(c)); err != nil {
			return err
		}
	}
	for _, contradicts := range contradictions {
		if err := contradicts(c); err != nil {
			return err
		}
	}
	return nil
}

func checkBuffers(c *Config) error {
	key, bulk := FormatSize(int64(c.MaxKeyBytes)), FormatSize(int64(c.MaxBulkBytes))
	if c.MaxKeyBytes > c.MaxBulkBytes {
		return contradictf("max-key-size (%s) is more than max-bulk-size (%s), so the longest keys could never arrive: "+
			"raise max-bulk-size to at least %s or lower max-key-size to %s", key, bulk, key, bulk)
	}
	if c.MaxBulkBytes >= c.QueryBufferBytes {
		return contradictf("query-buffer-size (%s) must be more than max-bulk-size (%s), or the longest arguments could "+
			"never arrive: raise query-buffer-size or lower max-bulk-size", FormatSize(int64(c.QueryBufferBytes)), bulk)
	}
	if c.MaxBulkBytes >= c.OutputBufferBytes {
		return contradictf("output-buffer-size (%s) must be more than max-bulk-size (%s), or the longest replies could "+
			"never leave: raise output-buffer-size or lower max-bulk-size", FormatSize(int64(c.OutputBufferBytes)), bulk)
	}
	return nil
}

func checkAddresses(c *Config) error {
	for i, a := range c.Listen {
		for _, b := range c.Listen[:i] {
			switch {
			case !overlap(a, b):
			case a == b:
				return contradictf("listen names %s twice: remove one of them", a)
			default:
				return contradictf("listen names %s and %s, which take the same port: remove one or change its port", b, a)
			}
		}
		if c.AdminAddress() != "" && overlap(a, c.Admin) {
			return contradictf("admin (%s) takes the same port as listen (%s): give admin a port of its own", c.Admin, a)
		}
	}
	return nil
}

func checkTLS(c *Config) error {
	for i, a := range c.TLSListen {
		for _, b := range append(c.TLSListen[:i:i], c.Listen...) {
			if overlap(a, b) {
				return contradictf("tls-listen (%s) takes the same port as %s: give it a port of its own", a, b)
			}
		}
		if c.AdminAddress() != "" && overlap(a, c.Admin) {
			return contradictf("admin (%s) takes the same port as tls-listen (%s): give admin a port of its own", c.Admin, a)
		}
	}
	if len(c.TLSListen) == 0 {
		if c.TLSCert != "" || c.TLSKey != "" || c.TLSClientCA != "" {
			return contradictf("tls-cert, tls-key and tls-client-ca are for tls-listen: name an address there, or leave them out")
		}
		return nil
	}
	if c.TLSCert == "" || c.TLSKey == "" {
		return contradictf("tls-listen (%s) needs a certificate and its key: name their files with tls-cert and tls-key", c.TLSListen[0])
	}
	return nil
}

func checkDir(c *Config) error {
	if c.Dir == "" {
		switch {
		case c.Durability != Default().Durability:
			return contradictf("durability (%s) needs a directory to keep state in: name one with dir, or leave durability out", c.Durability)
		case c.Repair:
			return contradictf("repair needs the directory to repair: name it with dir, or leave repair out")
		}
		return nil
	}
	if info, err := os.Stat(c.Dir); err == nil && !info.IsDir() {
		return contradictf("dir: %s is a file: name a directory, or one that can be created", quoted(c.Dir))
	}
	return nil
}

package envoy

import (
	"fmt"

	"github.com/stintdb/stint/server/config"
	"github.com/stintdb/stint/server/rls"
	"github.com/stintdb/stint/server/xds"
)

// openRules reads the rules of a directory, or the rules that were kept from a control plane.
func (s *Service) openRules(cfg *config.Config) (err error) {
	if cfg.RLSXDS == "" {
		if s.directory, err = rls.Open(cfg.RLSConfig); err != nil {
			return err
		}
		s.rules.Store(s.directory.InUse)
		s.logRules()
		return nil
	}
	o := xds.Options{Address: cfg.RLSXDS, Node: cfg.RLSXDSNode, Dir: cfg.Dir, Log: s.gateway.Log(), Changed: s.logRules}
	if cfg.RLSXDSTLS {
		o.TLS = &xds.Files{Cert: cfg.RLSXDSTLSCert, Key: cfg.RLSXDSTLSKey, CA: cfg.RLSXDSTLSCA, Name: cfg.RLSXDSTLSName}
	}
	control, err := xds.Open(o)
	if err != nil {
		return err
	}
	s.control.Store(control)
	s.rules.Store(&control.InUse)
	if control.Has() {
		s.logRules()
	}
	return nil
}

// Ready returns an error if the service has no rules yet and is to wait for them.
func (s *Service) Ready() error {
	if control := s.control.Load(); control != nil && !control.Has() && s.gateway.Config().RLSXDSWait {
		return fmt.Errorf("there are no rules yet: the control plane of --rls-xds (%s) has pushed none", s.gateway.Config().RLSXDS)
	}
	return nil
}

// reload reads the files of rules again if they changed.
func (s *Service) reload() {
	changed, err := s.directory.Reload()
	if err != nil {
		s.gateway.Log().Error("the new rules of --rls-config are wrong; the old rules stay in use", "error", err)
	}
	if changed {
		s.logRules()
	}
}

func (s *Service) logRules() {
	log, cfg := s.gateway.Log(), s.gateway.Config()
	domains, rules := s.current().Counts()
	switch {
	case domains > 0:
		log.Info("loaded the rules of Envoy's rate limit service", "domains", domains, "rules", rules)
	case cfg.RLSXDS != "":
		log.Warn("the control plane has no rules, so every request of Envoy is granted", "rls_xds", cfg.RLSXDS)
	default:
		log.Warn("the directory of --rls-config has no rules, so every request of Envoy is granted; put files NAME.yaml into the directory", "rls_config", cfg.RLSConfig)
	}
}

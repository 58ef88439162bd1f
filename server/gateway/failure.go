package gateway

import "time"

// WarnOfFailure logs why a proxy's request was not decided, at most once a minute: the proxy keeps the reason for
// itself.
func (g *Gateway) WarnOfFailure(request string, err error) {
	now := time.Now().UnixNano()
	if last := g.warned.Load(); now-last >= int64(time.Minute) && g.warned.CompareAndSwap(last, now) {
		g.Log().Warn("a proxy's request was not decided; unless another limit denied the request, the proxy does what it is set to do after an error", "request", request, "error", err)
	}
}

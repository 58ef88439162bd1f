// Package realtest holds the tests of a cluster of real processes. Three servers on the loopback interface reach each
// other through proxies, which can cut, delay and throttle every link in each direction; they are killed, stopped, wiped
// and restarted while clients on all of them take tokens. One limiter must have been able to give the clients' replies,
// one request after the other: porcupine looks for such an order. Others reserve with ids, ask again until they know the
// outcome, and settle: what each limit granted then equals an exact ledger. Several groups of keys, and five nodes with replicas
// on some, go through the same faults, a quarter as often. So do nodes that decide from memory: in no span of time may a
// limit grant more than one exact limiter would.
//
//	go test -tags e2e ./cluster/realtest                                                  # some seconds
//	go test -tags e2e ./cluster/realtest -run TestFaults -faults 32 -requests 70000 -v   # as CI does
//	go test -tags e2e ./cluster/realtest -run TestFaults -faults 20000 -requests 10000000 -timeout 26h -v
//	go test -tags e2e ./cluster/realtest -run TestRejoin -missed 10000000 -v        # how soon a node has caught up
//	go test -tags e2e ./cluster/realtest -run TestFailover -failovers 50 -v                    # how long nobody answers
package realtest

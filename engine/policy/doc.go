// Package policy keeps limits on the server by name. A check names a policy and a caller; [Policies.Fill] makes it a
// request for the policy's limits, with the caller's id and the fields of the check filled into their keys. A caller
// may have limits of its own, an override.
//
// The package decides nothing: who keeps the policies asks the limits, and tells the policies of the answers.
package policy

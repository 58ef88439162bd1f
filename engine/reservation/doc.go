// Package reservation has the state of a granted request that has an id, as bytes: the request, and the charge of each
// of its limits.
package reservation

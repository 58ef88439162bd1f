// Package reservation has the state of a granted request that has an id, as bytes: what it was asked, what each of its limits was charged.
package reservation

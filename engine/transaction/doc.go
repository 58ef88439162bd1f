// Package transaction lets commands and scripts read and change keys of all kinds at one instant. A [Tx] keeps the
// changes apart until it ends, and then all of them are kept or none. What commands do is not known here: they
// implement [Commands].
package transaction

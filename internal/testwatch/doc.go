// Package testwatch has clients that watch keys and change them in transactions, and checks their history: there must
// be an order, one after the other, in which every reply is right. In it a transaction is carried out if none of its
// watched keys has changed, and only then. Porcupine looks for such an order.
package testwatch

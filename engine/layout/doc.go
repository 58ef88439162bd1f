// Package layout has the layouts of states in memory and on disk that several algorithms share, or that are large: the
// meter of a bucket, and the pool of a fair share with its members. Package algorithm decides by them.
package layout

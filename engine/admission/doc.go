// Package admission decides which new keys are kept while there is no room for all: by the rules of a full memory, by
// quotas of keys, and with limiters that keys share.
package admission

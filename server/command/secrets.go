package command

// HasSecrets reports whether a command's arguments can hold a password.
func HasSecrets(args [][]byte) bool {
	row, err := Find(args)
	if row == nil && err != nil {
		return true // a mistyped AUTH is one too
	}
	switch row.FullName {
	case "auth", "hello", "acl|setuser", "config|set":
		return true
	}
	return false
}

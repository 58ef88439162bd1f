package engine

// AppendPolicyKey appends to b the key that part number part of a policy comes to for a caller. Without such a policy or
// part it appends nothing: the policy may have been changed since it was asked.
func (s *Store) AppendPolicyKey(b, policy, id []byte, part int) []byte {
	_, parts, _ := s.policies.find(policy, id)
	if part < 0 || part >= len(parts) {
		return b
	}
	return parts[part].key.appendTo(b, id)
}

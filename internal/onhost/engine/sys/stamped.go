package sys

// ReadAll fills b; false if the connection ended or failed. The time of arrival is the last segment's.
//
//go:nosplit
func (s *StampedSocket) ReadAll(b []byte) bool {
	for len(b) > 0 {
		n := s.Read(b)
		if n <= 0 {
			if n == 0 {
				s.Socket.SetEnded()
			}
			return false
		}
		b = b[n:]
	}
	return true
}

package sys

// Stamps are the kernel's timestamps of one transaction: when a message was sent (Tx) and when the answer arrived
// (Rx), in nanoseconds; 0 if not known.
type Stamps struct {
	// ID is the kernel's number of the message that was sent.
	ID uint32
	// Tx and Rx are in real time, TxHardware and RxHardware on the NIC's clock.
	Tx, Rx                 int64
	TxHardware, RxHardware int64
}

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

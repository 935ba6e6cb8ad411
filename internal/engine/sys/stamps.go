package sys

// Stamps are the timestamps of one transaction: of what was sent (tx) and of what came (rx), in nanoseconds, 0 where not known.
type Stamps struct {
	// id is the kernel's number of what was sent.
	ID uint32
	// tx and rx are of real time, txHardware and rxHardware on the NIC's clock.
	Tx, Rx                 int64
	TxHardware, RxHardware int64
}

package capture

// Options says what is watched.
type Options struct {
	// Device is the name of the network device.
	Device string
	Ends
	// Outer are the addresses of the two machines between which tunnels are, if they are known. Encrypted packets
	// between them are then counted too; it is not known whether they belong to the trial.
	Outer Ends
	// Arriving leaves out packets that leave by the device. They cost more than those that arrive: the kernel clones
	// each of them.
	Arriving bool
}

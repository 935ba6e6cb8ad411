package check

import "os"

func readFirmware() Firmware { return firmware(os.DirFS("/")) }

// ReadMachine reads what this machine's system says. It leaves out what cannot be read.
func ReadMachine() Machine { return linuxMachine(os.DirFS("/")) }

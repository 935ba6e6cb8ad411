package experiment

// CheckDestination checks a destination of ssh, as `ssh:` of a host takes it. The error is a *QuantityError.
func CheckDestination(name string) error { return checkSSH(name) }
